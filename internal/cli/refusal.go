package cli

import (
	"errors"
	"fmt"
	"strings"

	"fencepost/client"
	"fencepost/jobtype"
)

// maxPlaces is how many records at fault are printed at most, whatever the server sends.
const maxPlaces = 20

// batchError is a refusal that says where a batch is wrong, told as people count: a line for each record at fault, the first record
// being record 1.
type batchError struct{ *client.Problem }

// Unwrap is the refusal itself, by which the exit code is chosen.
func (e batchError) Unwrap() error { return e.Problem }

// Error is the refusal, with a line for each place. None of them has anything of the batch itself.
func (e batchError) Error() string {
	general := *e.Problem
	general.Errors, general.Offset = nil, nil
	lines := []string{general.Error()}
	if e.Offset != nil {
		lines = append(lines, fmt.Sprintf("at byte %d", *e.Offset))
	}
	for _, found := range e.Errors[:min(len(e.Errors), maxPlaces)] {
		lines = append(lines, place(found))
	}
	return strings.Join(lines, "\n")
}

// place is "record 731: missing_id" for an error at /730/id. A pointer of another form, from a later server, is told as it is.
func place(e jobtype.RecordError) string {
	var index int
	if _, err := fmt.Sscanf(e.Pointer, "/%d", &index); err != nil {
		return fmt.Sprintf("%s: %s", e.Pointer, e.Code)
	}
	return fmt.Sprintf("record %d: %s", index+1, e.Code)
}

// explain makes a refusal of a batch tell where that is wrong.
func explain(err error) error {
	if p, ok := errors.AsType[*client.Problem](err); ok {
		return batchError{p}
	}
	return err
}

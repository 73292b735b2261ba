package main

import "runtime/debug"

// Memory of a server. A request allocates little and holds on to nothing, so with Go's own setting the heap is collected many times
// in a second. Rarer collections are faster, and need memory: up to a bound, above which they become as frequent as ever.
const (
	garbagePercent   = 400
	memoryForItself  = 96 << 20
	payloadsInMemory = 64
	memoryOfStream   = 64 << 10
)

// collectRarely lets garbage gather up to a memory in which many of the longest payloads have room at once, and all streams. Were
// the bound below what lives, the process would collect without end. The variables of the Go runtime, GOGC and
// GOMEMLIMIT, win over it.
func collectRarely(lookupEnv func(string) (string, bool), maxPayloadBytes, maxStreams int) {
	if _, set := lookupEnv("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
	if _, set := lookupEnv("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryForItself + payloadsInMemory*int64(maxPayloadBytes) + memoryOfStream*int64(maxStreams))
	}
}

package server

import (
	"context"
	"runtime/debug"
	"time"
)

// Memory of a server. A request allocates little and holds on to nothing, so with Go's own setting the heap is collected many times
// in a second. Rarer collections are faster, and need memory: up to a bound, above which they become as frequent as ever.
const (
	garbagePercent   = 400
	memoryForItself  = 96 << 20
	payloadsInMemory = 64
	memoryOfStream   = 64 << 10
	countOfStreams   = time.Second
)

// memoryBound is that bound, in bytes, while no stream is open; 0 when it is not the program's to set.
type memoryBound int64

// collectRarely lets garbage gather up to a memory in which many of the longest payloads have room at once. The variables of the Go
// runtime, GOGC and GOMEMLIMIT, win over it.
func collectRarely(lookupEnv func(string) (string, bool), maxPayloadBytes int) memoryBound {
	if _, set := lookupEnv("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
	if _, set := lookupEnv("GOMEMLIMIT"); set {
		return 0
	}
	bound := memoryForItself + payloadsInMemory*int64(maxPayloadBytes)
	debug.SetMemoryLimit(bound)
	return memoryBound(bound)
}

// follow counts the open streams now and then, until ctx ends, and makes room for them. Were the bound below what lives, the process
// would collect without end.
func (b memoryBound) follow(ctx context.Context, streams func() int) {
	if b == 0 {
		return
	}
	ticker := time.NewTicker(countOfStreams)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			debug.SetMemoryLimit(int64(b) + memoryOfStream*int64(streams()))
		}
	}
}

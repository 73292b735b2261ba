// Package server is what a running process of the program is. [OpenServer] makes one that serves both APIs and runs jobs,
// [OpenWorker] one that only runs jobs; either is run by [Process.Run] and given back by [Process.Close]. This is the only
// package that wires the others together.
//
// Its errors name a setting by the flag that sets it, for whoever started the program.
package server

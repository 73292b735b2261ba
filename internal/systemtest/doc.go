// Package systemtest holds the tests of the program as a whole: real servers and workers, real PostgreSQL, real HTTP. Where a
// process is killed or sent a signal, it is the built program; elsewhere servers run in the process of the test
// (internal/servertest). The files divide the work:
//
//	streams, drain, process         the life of a process: streams, its stop, signals, its private PostgreSQL
//	kill, faults, cycles            processes that are killed, and connections cut a thousand times
//	outages, full_disk, replica     PostgreSQL that does not serve, or has no space, or has a replica
//	answers                         a client whose answers get lost
//	problem_codes, before_handler   every refusal through both doors, and what the HTTP server answers by itself
//	secrecy, trace                  what must not leave, and what traces tell
//	monitoring                      alerts and dashboard, under a real Prometheus
//	credentials                     what authentication costs
//	clients, folder                 the libraries and scripts of others that use the APIs
package systemtest

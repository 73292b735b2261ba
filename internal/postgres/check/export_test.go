package check

// LookAtLoad is the check of the load alone.
var LookAtLoad = Config.load

package db

// Retryable reports whether a second try may fare better at once.
var Retryable = retryable

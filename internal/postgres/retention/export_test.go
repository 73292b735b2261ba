package retention

// StillReferenced reports whether a purge is tried again after an error.
var StillReferenced = stillReferenced

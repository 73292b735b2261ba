package statements

// Read parses the files of a folder.
var Read = read

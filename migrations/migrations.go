// Package migrations holds the schema of Fencepost as goose migrations, and nothing else.
//
// Each file goes up and down. A down migration refuses, with a message, to drop a state that rows are still in.
package migrations

import "embed"

// FS holds the migration files.
//
//go:embed *.sql
var FS embed.FS

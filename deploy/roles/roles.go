// Package roles has the SQL that divides the rights on Fencepost's database among four roles, as security.md describes them.
// The tests run the product as these roles; operators run the files with psql.
package roles

import _ "embed" // for the files

// The roles, by what they are for. The names are those of the files.
const (
	// Migrator owns the schema.
	Migrator = "fencepost_migrator"
	// Server is who "serve" and "work" are.
	Server = "fencepost_server"
	// Retention is who "retention purge" is.
	Retention = "fencepost_retention"
	// Reader sees how jobs are doing, and nothing secret.
	Reader = "fencepost_reader"
)

// Create makes the roles and gives them the database that it is run in, as a superuser.
//
//go:embed roles.sql
var Create string

// Grant lets each role do what it needs with the tables of the newest schema. The migrator runs it.
//
//go:embed grants.sql
var Grant string

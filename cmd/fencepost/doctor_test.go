package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/check"
	"fencepost/internal/servertest"
)

func TestDoctorTellsWhatItLookedAtAsATableAndAsJSON(t *testing.T) {
	t.Parallel()
	e := env{"FENCEPOST_DATABASE_URL": pgtest.Direct(pgtest.URL(t))}
	o := invoke(t, e, nil, "doctor")
	require.Equal(t, 0, o.code, o.stderr)
	require.Regexp(t, `CHECK +STATE +FINDING\ndatabase +ok *\nencoding +ok`, o.stdout)
	require.NotContains(t, o.stdout, "failed")

	o = invoke(t, e, nil, "doctor", "--output", "json")
	require.Equal(t, 0, o.code, o.stderr)
	var results []check.Result
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &results))
	require.Equal(t, check.Result{Name: "database", State: check.Passed}, results[0])
}

func TestDoctorExitsWithOneWhenItFindsSomething(t *testing.T) {
	t.Parallel()
	e := env{"FENCEPOST_DATABASE_URL": pgtest.Direct(pgtest.URL(t))}
	file := servertest.File(t, "load.sql", "INSERT INTO prices SELECT @records", 0o600)
	o := invoke(t, e, nil, "doctor", "--load-sql-file", file)
	require.Equal(t, 1, o.code)
	require.Regexp(t, `load +failed +the load statement does not fit the database: SQLSTATE 42P01 at line 1, column 13 of its file\n`, o.stdout)
	require.Contains(t, o.stderr, "see above")
}

func TestDoctorNeedsADatabaseAndALoadThatCanBeRead(t *testing.T) {
	t.Parallel()
	require.Contains(t, refused(t, "doctor"), "--database-url or FENCEPOST_DATABASE_URL")
	require.Contains(t, refused(t, "doctor", "--database-url", "postgres://host:port"), "--database-url: ")
	require.Contains(t, refused(t, "doctor", "--database-url", unreachable, "--load-sql-file", "absent"), "--load-sql-file: ")
}

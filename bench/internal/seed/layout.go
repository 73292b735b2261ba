// Package seed fills a database with jobs as a service in use would have them, and knows without asking which jobs are where.
//
// Rows are numbered from 0 in the order of time. They lie in 32 lanes that take turns, so that two jobs of one owner, and
// two jobs of one lineage, are hardly ever on the same page. The first 16 lanes belong to the users of the measurement, one
// lane each; each row of the other lanes belongs to one of many owners, a few of whom have most.
//
// In the lane of each owner, every tenth job belongs to a lineage of 100: four chains of replays that begin at one root.
package seed

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

const (
	// Users is the number of users, each with a lane of rows.
	Users = 16
	// LineageSize is the number of jobs in each lineage, and LineageGenerations that of its generations.
	LineageSize        = 100
	LineageGenerations = 26

	lanes       = 32
	stride      = 10                   // every tenth job of a lane is in a lineage
	lineageSpan = stride * LineageSize // jobs of a lane from one root to the next
	branches    = 4                    // chains that begin at a root

	firstMillisecond = 1_767_225_600_000 // 2026-01-01, when row 0 was submitted; one row each millisecond
)

// MinRows is the fewest rows with a whole lineage in each lane.
const MinRows = lanes * lineageSpan

// UserName is the name of a user.
func UserName(user int) string { return fmt.Sprintf("bench-%d", user) }

// UserNames are the names of all users.
func UserNames() []string {
	names := make([]string, Users)
	for i := range names {
		names[i] = UserName(i)
	}
	return names
}

// OwnerHex is a user's owner hash in hexadecimal digits.
func OwnerHex(user int) string { return fmt.Sprintf("%x", job.OwnerOf(UserName(user))) }

// OwnerSQL is a user's owner hash as an SQL literal.
func OwnerSQL(user int) string { return `'\x` + OwnerHex(user) + `'::bytea` }

// ID is the id of a row: a version 7 UUID, like those that the service makes.
func ID(row int64) uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], uint64(firstMillisecond+row)<<16|0x7000) //nolint:gosec // rows are few and not negative
	id[8] = 0x80
	return id
}

// IDSQL is [ID] as an SQL expression of a bigint.
func IDSQL(row string) string {
	return fmt.Sprintf(`(lpad(to_hex(%d + %s), 12, '0') || '70008000000000000000')::uuid`, firstMillisecond, row)
}

// below picks a number from 0 up.
func below(n int64) int64 { return rand.Int64N(n) } //nolint:gosec // nothing is secret about which job is read

// Job picks one of a user's jobs at random, given the number of rows.
func Job(rows int64) (user int, row int64) {
	user = int(below(Users))
	return user, below(rows/lanes)*lanes + int64(user)
}

// Position picks a place in a user's list that at least a page of jobs lies behind.
func Position(rows int64) (user int, row int64) {
	user = int(below(Users))
	return user, (job.MaxPageSize+1+below(rows/lanes-job.MaxPageSize-1))*lanes + int64(user)
}

// Lineage picks any job of one of a user's lineages.
func Lineage(rows int64) (user int, row int64) {
	user = int(below(Users))
	root := below(rows/lanes/lineageSpan) * lineageSpan
	return user, (root+below(LineageSize)*stride)*lanes + int64(user)
}

// JobRow, PositionRow and LineageRow are the same choices as pgbench expressions of the variable user.
func JobRow(rows int64) string {
	return fmt.Sprintf("random(0, %d) * %d + :user", rows/lanes-1, lanes)
}

// PositionRow is [Position] in pgbench.
func PositionRow(rows int64) string {
	return fmt.Sprintf("random(%d, %d) * %d + :user", job.MaxPageSize+1, rows/lanes-1, lanes)
}

// LineageRow is [Lineage] in pgbench.
func LineageRow(rows int64) string {
	return fmt.Sprintf("(random(0, %d) * %d + random(0, %d) * %d) * %d + :user",
		rows/lanes/lineageSpan-1, lineageSpan, LineageSize-1, stride, lanes)
}

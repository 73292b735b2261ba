package systemtest

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"fencepost/internal/pgtest"
	"fencepost/internal/server"
	"fencepost/internal/servertest"
)

// elapsed is how long a function takes.
func elapsed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// TestFiftyRequestsTakeLessThanTwoVerificationsBeyondTheFirst compares with what bcrypt needs for the same user, on the same
// machine. A round in which the machine was busy with something else is repeated: without the memory of the password, each
// round would take 49 verifications.
//
//nolint:paralleltest // it measures time
func TestFiftyRequestsTakeLessThanTwoVerificationsBeyondTheFirst(t *testing.T) {
	users := servertest.UsersFile(t, name, password)
	p := serve(t, pgtest.URL(t), withoutWorkers, func(c *server.Config) { c.Site.UsersFile = users })
	line, err := os.ReadFile(users)
	require.NoError(t, err)
	_, hash, _ := strings.Cut(strings.TrimSpace(string(line)), ":")

	request := func() { require.Equal(t, http.StatusOK, call(t, http.MethodGet, p.API+"/api/etl/jobs", "").Status) }
	request()
	quick := func() bool {
		verification := elapsed(func() { err = bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) })
		require.NoError(t, err)
		fortyNine := elapsed(func() {
			for range 49 {
				request()
			}
		})
		return fortyNine < 2*verification
	}
	for round := 0; !quick(); round++ {
		require.Less(t, round, 20, "rounds of 49 requests that took two verifications or more")
	}
}

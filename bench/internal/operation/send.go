package operation

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/load"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// client keeps a connection for each of the callers, where the default one keeps two.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: load.Clients}}

// send makes one request, where its rate does not matter, and returns the body of the answer.
func send(ctx context.Context, address string, r target.Request) (string, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, "http://"+address+r.Path, strings.NewReader(r.Body))
	if err != nil {
		return "", err
	}
	request.SetBasicAuth(seed.UserName(r.User), process.Password)
	request.Header.Set("Content-Type", "application/json")
	if r.Header != "" {
		request.Header.Set(r.Header, r.HeaderValue)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// scan reads one value.
func scan[T any](ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) (T, error) {
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
}

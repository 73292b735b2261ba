package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// postgraphileDir holds the peer's package and its functions for the database.
const postgraphileDir = "postgraphile"

// StartPostGraphile installs the peer from its lock file, gives a database the functions that it serves, and starts it with
// two workers, set up as its documentation recommends for production. It returns the address that it serves at.
func StartPostGraphile(ctx context.Context, databaseURL string) (p *Process, address string, err error) {
	install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	install.Dir = postgraphileDir
	if output, err := install.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("install PostGraphile: %w: %s", err, output)
	}
	if err := createFunctions(ctx, databaseURL); err != nil {
		return nil, "", fmt.Errorf("functions of PostGraphile: %w", err)
	}
	if address, err = FreeAddress(ctx); err != nil {
		return nil, "", err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", err
	}
	p, err = Start(ctx, "env", "NODE_ENV=production", "GRAPHILE_ENV=production",
		filepath.Join(postgraphileDir, "node_modules", ".bin", "postgraphile"),
		"--connection", databaseURL, "--schema", "public", "--host", host, "--port", port, "--cluster-workers", "2",
		"--disable-query-log", "--disable-graphiql", "--dynamic-json", "--no-setof-functions-contain-nulls",
		"--no-ignore-rbac", "--no-ignore-indexes")
	if err != nil {
		return nil, "", err
	}
	return p, address, p.WaitUntilServing(ctx, "http://"+address+"/graphql")
}

func createFunctions(ctx context.Context, databaseURL string) error {
	functions, err := os.ReadFile(filepath.Join(postgraphileDir, "functions.sql"))
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, string(functions))
	return err
}

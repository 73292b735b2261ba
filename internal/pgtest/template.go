package pgtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver that goose uses
	"github.com/pressly/goose/v3"

	"fencepost/deploy/roles"
	"fencepost/migrations"
)

// ensureTemplate returns the name of a migrated database that nobody connects to. The name says which migrations and grants are
// in it, so that several processes, and several versions of the code, can share a server. The one that holds the lock
// builds; a template under its final name is complete.
func (s *shared) ensureTemplate(ctx context.Context) (string, error) {
	digest, err := hashFiles(migrations.FS)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(digest + roles.Create + roles.Grant))
	name := "fencepost_template_" + hex.EncodeToString(sum[:6])
	conn, err := s.admin.Acquire(ctx)
	if err != nil {
		return "", fmt.Errorf("connect to the test server: %w", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", name); err != nil {
		return "", fmt.Errorf("lock the template database: %w", err)
	}
	err = s.buildTemplate(ctx, conn.Conn(), name)
	_, unlockErr := conn.Exec(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", name)
	return name, errors.Join(err, unlockErr)
}

func (s *shared) buildTemplate(ctx context.Context, conn *pgx.Conn, name string) error {
	var exists bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil || exists {
		return err
	}
	unfinished := name + "_unfinished"
	for _, statement := range []string{"DROP DATABASE IF EXISTS ", "CREATE DATABASE "} {
		if _, err := conn.Exec(ctx, statement+unfinished); err != nil {
			return fmt.Errorf("create the template database: %w", err)
		}
	}
	url, err := withDatabase(s.engine.url(), unfinished)
	if err != nil {
		return err
	}
	if err := prepare(ctx, url); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name)
	return err
}

// prepare makes the roles, the schema as the migrator, and the grants.
func prepare(ctx context.Context, superuser string) error {
	migrator, err := withRole(superuser, roles.Migrator)
	if err != nil {
		return err
	}
	if err := execute(ctx, superuser, roles.Create); err != nil {
		return fmt.Errorf("make the roles: %w", err)
	}
	if err := migrate(ctx, migrator); err != nil {
		return err
	}
	if err := execute(ctx, migrator, roles.Grant); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	return nil
}

func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

func migrate(ctx context.Context, url string) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// hashFiles is a digest over the names and contents of all files.
func hashFiles(files fs.FS) (string, error) {
	digest := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		fmt.Fprintf(digest, "%s %d\n%s", path, len(content), content)
		return err
	})
	return hex.EncodeToString(digest.Sum(nil)), err
}

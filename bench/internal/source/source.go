// Package source reads the SQL statements out of the product's source, so that what the floor runs is what the product runs.
package source

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// Statements are the string constants of a package, by name.
type Statements map[string]string

// Read evaluates the string constants of the package in a directory.
func Read(dir string) (Statements, error) {
	positions := token.NewFileSet()
	files, err := parse(positions, dir)
	if err != nil {
		return nil, err
	}
	// Imports stay unresolved: no constant of a statement needs them, and errors about them are of no interest.
	checker := types.Config{IgnoreFuncBodies: true, Importer: importer.Default(), Error: func(error) {}}
	pkg, _ := checker.Check(dir, positions, files, nil)
	statements := Statements{}
	for _, name := range pkg.Scope().Names() {
		c, isConst := pkg.Scope().Lookup(name).(*types.Const)
		if isConst && c.Val().Kind() == constant.String {
			statements[name] = constant.StringVal(c.Val())
		}
	}
	return statements, nil
}

func parse(positions *token.FileSet, dir string) ([]*ast.File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(positions, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// names are the constants by the names of their statements, with the names of their parameters.
var names = map[string][]string{
	"jobs":            {"gatheredSQL", "owners", "ids"},
	"list":            {"listSQL", "owner", "before", "limit"},
	"lineage summary": {"lineageSummarySQL", "owner", "id"},
	"lineage page":    {"lineagePageSQL", "owner", "id", "after_generation", "after_id", "limit"},
	"cancel":          {"gatheredCancelSQL", "owners", "ids", "key_hashes", "cancellation_code"},
	"submit":          {"gatheredSubmitSQL", "owners", "ids", "key_hashes", "digests", "payloads", "record_counts"},
	"claim":           {"claimSQL", "limit", "worker_id", "duration", "max_attempts", "failure_code", "max_claimed_payload"},
	"succeed":         {"succeedSQL", "owner", "id", "claim_id"},
}

// Get returns a statement with its parameters replaced by SQL expressions.
func (s Statements) Get(name string, args map[string]string) (string, error) {
	constant := names[name]
	sql, found := s[constant[0]]
	if !found {
		return "", fmt.Errorf("the product has no statement %q", name)
	}
	// From the last, so that $1 does not match the beginning of $10.
	for i, param := range slices.Backward(constant[1:]) {
		sql = strings.ReplaceAll(sql, fmt.Sprintf("$%d", i+1), "("+args[param]+")")
	}
	return strings.TrimSpace(sql), nil
}

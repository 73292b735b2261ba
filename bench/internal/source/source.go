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
	"maps"
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

// Get returns a statement with its parameters ($1, $2, …) replaced by SQL expressions.
func (s Statements) Get(name string, args ...string) (string, error) {
	sql, found := s[name]
	if !found {
		return "", fmt.Errorf("the product has no statement %q, only %v", name, slices.Sorted(maps.Keys(s)))
	}
	// From the last, so that $1 does not match the beginning of $10.
	for i, arg := range slices.Backward(args) {
		sql = strings.ReplaceAll(sql, fmt.Sprintf("$%d", i+1), "("+arg+")")
	}
	if strings.Contains(sql, "$") {
		return "", fmt.Errorf("statement %q has more parameters than %d", name, len(args))
	}
	return strings.TrimSpace(sql), nil
}

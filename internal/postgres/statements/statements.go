// Package statements has all SQL that the product sends, as files: one for each verb, each statement under a line "-- name: …",
// with named parameters (@owner), a comment line where a part is not plain, and templates (text/template) for what several
// statements share. The store, the tracer, the tests of plans, the benchmark and the mutations read it here and nowhere else.
package statements

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed *.sql
var files embed.FS

// A Statement is one SQL statement.
type Statement struct {
	// Name is what its file and traces call it.
	Name string
	// SQL is the text that is sent, without its comments, in which $1 stands for the first of Params.
	SQL string
	// Params are the names of the parameters.
	Params []string
}

// Args are the arguments of a statement by the names of its parameters.
type Args map[string]any

// Positional puts arguments in the order of the parameters. It panics when they are not exactly the statement's, which is a mistake
// in the program.
func (s Statement) Positional(args Args) []any {
	values := make([]any, len(s.Params))
	for i, name := range s.Params {
		value, given := args[name]
		if !given {
			panic(fmt.Sprintf("statement %q needs @%s", s.Name, name))
		}
		values[i] = value
	}
	if len(args) != len(values) {
		panic(fmt.Sprintf("statement %q takes no more than %v", s.Name, s.Params))
	}
	return values
}

var byName, byText = read(files)

// Named is the statement with a name. It panics when there is none, which is a mistake in the program.
func Named(name string) Statement {
	s, found := byName[name]
	if !found {
		panic(fmt.Sprintf("there is no statement %q", name))
	}
	return s
}

// All are the statements by name.
func All() []Statement {
	return slices.SortedFunc(maps.Values(byName), func(a, b Statement) int { return strings.Compare(a.Name, b.Name) })
}

// NameOf is the name of the statement with a text. The only text that is not ours is an operator's load.
func NameOf(sql string) string {
	if name, ours := byText[sql]; ours {
		return name
	}
	return "load"
}

// read parses the files. They are part of the program, so a mistake in them panics.
func read(files fs.FS) (named map[string]Statement, names map[string]string) {
	named, names = map[string]Statement{}, map[string]string{}
	templates := template.Must(template.Must(template.New("job_columns").Parse(jobColumns)).ParseFS(files, "*.sql"))
	for _, file := range templates.Templates() {
		if !strings.HasSuffix(file.Name(), ".sql") {
			continue // a part of several statements
		}
		var text strings.Builder
		if err := file.Execute(&text, nil); err != nil {
			panic(err)
		}
		for section := range strings.SplitSeq(text.String(), "\n-- name: ") {
			s, isStatement := parse(section)
			if !isStatement {
				continue
			}
			if _, twice := named[s.Name]; twice {
				panic(fmt.Sprintf("there are two statements %q", s.Name))
			}
			named[s.Name], names[s.SQL] = s, s.Name
		}
	}
	return named, names
}

var (
	comment   = regexp.MustCompile(`(?m)^\s*--.*\n`)
	parameter = regexp.MustCompile(`@[a-z_]+`)
)

// parse reads a statement behind its name. What comes before the first name of a file is only comments.
func parse(section string) (s Statement, isStatement bool) {
	name, text, _ := strings.Cut(section, "\n")
	text = strings.TrimSpace(comment.ReplaceAllString(text+"\n", ""))
	if strings.HasPrefix(name, "--") || text == "" {
		return Statement{}, false
	}
	s.Name = name
	s.SQL = parameter.ReplaceAllStringFunc(text, func(found string) string {
		place := slices.Index(s.Params, found[1:])
		if place < 0 {
			place = len(s.Params)
			s.Params = append(s.Params, found[1:])
		}
		return fmt.Sprintf("$%d", place+1)
	})
	return s, true
}

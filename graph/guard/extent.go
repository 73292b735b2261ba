package guard

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"
)

// extent is the size of a document, or of a part of it, with its fragments written out.
type extent struct {
	depth      int // how deeply fields are nested
	roots      int // fields at the top
	selections int // fields and fragments at every level
	aliases    int // renamed fields
	directives int
}

// The greatest extent of an operation. The introspection query of GraphiQL needs a depth of 15.
var maxExtent = extent{depth: 15, roots: 20, selections: 500, aliases: 50, directives: 50}

const (
	maxTokens     = 5000
	maxOperations = 10
)

// checkExtent measures a document before anything else walks it, because validation takes time in the square of a document's
// size and counting costs takes time exponential in the depth of its fragments.
func checkExtent(query string) *gqlerror.Error {
	source := &ast.Source{Input: query}
	if n := countTokens(source); n > maxTokens {
		return tooComplex("tokens", n, maxTokens)
	}
	document, err := parser.ParseQuery(source)
	if err != nil {
		return nil //nolint:nilerr // gqlgen parses it again and says so
	}
	if n := len(document.Operations); n > maxOperations {
		return tooComplex("operations", n, maxOperations)
	}
	return newMeasure(document).check()
}

// countTokens stops behind the first token too many, and at an error, which the parser then meets as well.
func countTokens(source *ast.Source) int {
	lex := lexer.New(source)
	for n := 0; ; n++ {
		token, err := lex.ReadToken()
		if err != nil || token.Kind == lexer.EOF || n > maxTokens {
			return n
		}
	}
}

// measure takes the extent of each fragment once, however often it is spread.
type measure struct {
	document *ast.QueryDocument
	known    map[string]extent
}

func newMeasure(document *ast.QueryDocument) measure {
	return measure{document: document, known: map[string]extent{}}
}

// check also looks at each fragment by itself, since validation walks those that no operation spreads.
func (m measure) check() *gqlerror.Error {
	for _, f := range m.document.Fragments {
		if err := m.fragment(f.Name).check(); err != nil {
			return err
		}
	}
	for _, op := range m.document.Operations {
		e := m.selectionSet(op.SelectionSet)
		e.directives = add(e.directives, len(op.Directives))
		if err := e.check(); err != nil {
			return err
		}
	}
	return nil
}

func (e extent) check() *gqlerror.Error {
	for _, limit := range []struct {
		name               string
		requested, allowed int
	}{
		{"depth", e.depth, maxExtent.depth},
		{"roots", e.roots, maxExtent.roots},
		{"selections", e.selections, maxExtent.selections},
		{"aliases", e.aliases, maxExtent.aliases},
		{"directives", e.directives, maxExtent.directives},
	} {
		if limit.requested > limit.allowed {
			return tooComplex(limit.name, limit.requested, limit.allowed)
		}
	}
	return nil
}

func (m measure) selectionSet(set ast.SelectionSet) extent {
	var sum extent
	for _, selection := range set {
		e := m.selection(selection)
		sum.depth = max(sum.depth, e.depth)
		sum.roots = add(sum.roots, e.roots)
		sum.selections = add(sum.selections, e.selections)
		sum.aliases = add(sum.aliases, e.aliases)
		sum.directives = add(sum.directives, e.directives)
	}
	return sum
}

func (m measure) selection(selection ast.Selection) extent {
	var e extent
	switch s := selection.(type) {
	case *ast.Field:
		e = m.selectionSet(s.SelectionSet)
		e.depth, e.roots = e.depth+1, 1
		e.directives = add(e.directives, len(s.Directives))
		if s.Alias != s.Name {
			e.aliases = add(e.aliases, 1)
		}
	case *ast.InlineFragment:
		e = m.selectionSet(s.SelectionSet)
		e.directives = add(e.directives, len(s.Directives))
	case *ast.FragmentSpread:
		e = m.fragment(s.Name)
		e.directives = add(e.directives, len(s.Directives))
	}
	e.selections = add(e.selections, 1)
	return e
}

// fragment is empty for one that does not exist or contains itself: validation refuses both.
func (m measure) fragment(name string) extent {
	if e, ok := m.known[name]; ok {
		return e
	}
	m.known[name] = extent{}
	if f := m.document.Fragments.ForName(name); f != nil {
		m.known[name] = m.selectionSet(f.SelectionSet)
	}
	return m.known[name]
}

// add saturates, because the extent of nested fragments doubles with each of them.
func add(a, b int) int { return min(a+b, 1<<30) }

package guard

import (
	"context"

	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"
)

const (
	cachedDocuments       = 1000
	longestCachedDocument = 8 << 10
)

// documentCache remembers parsed documents, but no long one: it may hold a payload as a literal, and a thousand of those
// would fill the memory.
type documentCache struct{ *lru.LRU[*ast.QueryDocument] }

func newDocumentCache() documentCache {
	return documentCache{lru.New[*ast.QueryDocument](cachedDocuments)}
}

// Add remembers a document unless it is long.
func (c documentCache) Add(ctx context.Context, query string, document *ast.QueryDocument) {
	if len(query) <= longestCachedDocument {
		c.LRU.Add(ctx, query, document)
	}
}

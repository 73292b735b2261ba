// Package guard decides whether a GraphQL operation is executed. It knows GraphQL and no job, and is the same under every
// transport. An operation passes, in this order:
//
//	extent.go     the document's tokens, depth and width, before anything walks it
//	rules.go      validation, in fixed texts that suggest no names
//	variables.go  the values of variables, as strictly as the specification has them
//	cost.go       the cost: fields times page sizes
//
// admission.go is where gqlgen asks; documents.go remembers the documents that have passed.
package guard

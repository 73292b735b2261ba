package rest

import (
	"context"
	_ "embed" // the OpenAPI document is part of the program
	"net/http"

	"github.com/goccy/go-yaml"
)

// openapiYAML is the source of the OpenAPI document.
//
//go:embed openapi.yaml
var openapiYAML []byte

// openapiJSON is the same document as JSON. The source is part of the program, so it always can be converted.
func openapiJSON() []byte {
	text, _ := yaml.YAMLToJSON(openapiYAML)
	return text
}

// getDocument serves one form of the OpenAPI document. Caches may keep it if they ask before they use it.
func getDocument(mediaType string, text []byte) endpoint {
	return endpoint{mediaType: mediaType, answer: func(context.Context, request) (response, error) {
		header := map[string]string{"Cache-Control": "no-cache"}
		return response{status: http.StatusOK, header: header, body: text, tagged: true}, nil
	}}
}

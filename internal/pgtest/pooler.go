package pgtest

import (
	"os"
	"path"
	"sync"
)

// direct has the URLs of the server by those of the pooler.
var direct sync.Map

// pooled returns the URL of a database by way of the pooler, if there is one. The pooler sees to the role.
func pooled(database string) (string, error) {
	pooler := os.Getenv(poolerURLVariable)
	if pooler == "" {
		return database, nil
	}
	u, err := parse(database)
	if err != nil {
		return "", err
	}
	through, err := withDatabase(pooler, path.Base(u.Path))
	direct.Store(through, database)
	return through, err
}

// Direct returns the URL of the same database without the pooler, for what needs a session of its own.
func Direct(url string) string {
	if database, found := direct.Load(url); found {
		return database.(string)
	}
	return url
}

package server_test

import (
	"testing"

	"fencepost/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

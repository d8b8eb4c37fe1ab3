package program_test

import (
	"testing"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// TestProgram runs the built program against one cluster.
func TestProgram(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	p := setup.BuildProgram(t)
	t.Run("Errors", func(t *testing.T) { testErrors(t, c, p) })
	t.Run("Lists", func(t *testing.T) { testLists(t, c, p) })
	t.Run("SlowReader", func(t *testing.T) { testSlowReader(t, c, p) })
}

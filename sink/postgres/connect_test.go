package postgres

import (
	"testing"
	"time"
)

// TestASilentServerIsGivenUp: pgx has no limit of its own for one that accepts and says nothing.
func TestASilentServerIsGivenUp(t *testing.T) {
	t.Setenv("PGCONNECT_TIMEOUT", "")
	for url, want := range map[string]time.Duration{
		"postgres://u@h/db":                   10 * time.Second,
		"postgres://u@h/db?connect_timeout=3": 3 * time.Second,
		"host=h user=u connect_timeout=40":    40 * time.Second,
	} {
		c, err := configure(url)
		if err != nil {
			t.Fatal(err)
		}
		if c.ConnConfig.ConnectTimeout != want {
			t.Errorf("%s: %v, want %v", url, c.ConnConfig.ConnectTimeout, want)
		}
	}
}

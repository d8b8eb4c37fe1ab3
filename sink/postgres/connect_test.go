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
		"host=h user=u connect_timeout=0":     10 * time.Second,
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

// TestAWrongConnectTimeoutIsNamed: it may stand in PGCONNECT_TIMEOUT and in a service file, too. No
// other error of pgx is shown: it may quote the password.
func TestAWrongConnectTimeoutIsNamed(t *testing.T) {
	const seconds = "open postgres: connect_timeout must be a number of seconds"
	for url, want := range map[string]string{
		"postgres://u:secret@h/db?connect_timeout=-1":             seconds,
		"host=h password=secret connect_timeout=abc":              seconds,
		"postgres://u:secret@h:port/db?connect_timeout=10":        "open postgres: the URL cannot be read",
		"postgres://u:secret: invalid connect_timeout (x)@h:p/db": "open postgres: the URL cannot be read",
	} {
		if _, err := configure(url); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", url, err, want)
		}
	}
}

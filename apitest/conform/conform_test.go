package conform

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
)

// The fake passes each check in a bubble of its own, so that the waits of the
// suite cost nothing.
func TestFakeConforms(t *testing.T) {
	for _, c := range []struct {
		name    string
		options apitest.Options
		binary  bool
	}{
		{"HTTP/1.1", apitest.Options{Namespaces: true}, false},
		{"protobuf", apitest.Options{Namespaces: true}, true},
		{"with shards", apitest.Options{Namespaces: true, ShardedListAndWatch: true}, false},
		{"HTTP/2, token, compressed watches", apitest.Options{Namespaces: true, TLS: true, Token: "secret", CompressWatch: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, category := range categories() {
				for _, check := range category.checks {
					t.Run(category.name+"/"+check.name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							t.Cleanup(func() { time.Sleep(time.Second) }) // connections that the server closes linger
							c.options.InMemory = true
							srv := apitest.NewWith(t, c.options)
							client := srv.Client()
							if c.binary {
								client.Transport = Protobuf(client.Transport)
							}
							check.run(newEnv(t, srv.URL, client))
						})
					})
				}
			}
		})
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// TestIterationsOfSCRAMAreLimited: a broker that asks for 2,147,483,647 kept the program computing
// for 10 minutes.
func TestIterationsOfSCRAMAreLimited(t *testing.T) {
	for iterations, refused := range map[string]bool{"4096": false, "16384": false, "1000001": true, "2147483647": true, "99999999999999999999": true} {
		s, first, err := bounded{scram.Auth{User: "u", Pass: "p"}.AsSha256Mechanism()}.Authenticate(t.Context(), "a:9092")
		if err != nil {
			t.Fatal(err)
		}
		_, nonce, _ := strings.Cut(string(first), ",r=")
		_, _, err = s.Challenge([]byte("r=" + nonce + "more,s=c2FsdA==,i=" + iterations))
		if (err != nil) != refused {
			t.Errorf("%s: %v", iterations, err)
		}
	}
}

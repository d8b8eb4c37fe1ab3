package webhook

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"testing"
	"time"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func mustIssue(t *testing.T, now time.Time, lifetime time.Duration, hosts ...string) *pair {
	t.Helper()
	p, err := issue(hosts, now, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// trusts reports whether an API server with a bundle accepts a certificate.
func trusts(b bundle, p *pair, host string, now time.Time) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b.pem())
	_, err := p.leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool, CurrentTime: now})
	return err
}

// TestIssuedPairIsTrusted: for its names, by its own CA only, and by clocks that are a
// week behind.
func TestIssuedPairIsTrusted(t *testing.T) {
	p, other := mustIssue(t, noon, 90*24*time.Hour, "hooks.shop.svc", "10.0.0.1"), mustIssue(t, noon, 90*24*time.Hour, "hooks.shop.svc")
	own := bundle{mark(p.ca): p.ca}
	both := own.with(bundle{mark(other.ca): other.ca}, noon)
	for _, host := range []string{"hooks.shop.svc", "10.0.0.1"} {
		for _, at := range []time.Time{noon.Add(-skew), noon, noon.Add(90*24*time.Hour - time.Second)} {
			if err := trusts(both, p, host, at); err != nil {
				t.Errorf("%s at %v: %v", host, at, err)
			}
		}
	}
	if trusts(own, other, "hooks.shop.svc", noon) == nil || trusts(own, p, "x.shop.svc", noon) == nil || trusts(own, p, "10.0.0.1", noon.Add(91*24*time.Hour)) == nil {
		t.Error("it is trusted where it should not be")
	}
	again, err := parsePair(p.certPEM, p.keyPEM)
	if err != nil || !again.same(p) || again.same(other) || again.same(nil) {
		t.Errorf("read again: %v", err)
	}
	for name, parts := range map[string][2][]byte{"key of another": {p.certPEM, other.keyPEM}, "no CA": {encode("CERTIFICATE", p.leaf.Raw), p.keyPEM},
		"another CA": {append(encode("CERTIFICATE", p.leaf.Raw), encode("CERTIFICATE", other.ca.Raw)...), p.keyPEM}, "nothing": {nil, nil}, "large": {bytes.Repeat([]byte("x"), maxPEM+1), p.keyPEM}} {
		if _, err := parsePair(parts[0], parts[1]); err == nil {
			t.Errorf("%s: accepted", name)
		} else if bytes.Contains([]byte(fmt.Sprint(err)), p.keyPEM[30:60]) {
			t.Errorf("%s: the error has a part of the key", name)
		}
	}
}

// TestBundle: a bundle loses what has expired for every clock, and what is above the
// limit: of the others that are added, those that end first.
func TestBundle(t *testing.T) {
	every := bundle{}
	var ends []*pair
	for i := range maxBundle + 2 {
		p := mustIssue(t, noon.Add(time.Duration(i)*time.Hour), 24*time.Hour, "h")
		ends = append(ends, p)
		every[mark(p.ca)] = p.ca
	}
	own := bundle{mark(ends[0].ca): ends[0].ca}
	all := own.with(every, noon)
	for i, p := range ends {
		if all.holds(p) != (i == 0 || i > 2) {
			t.Errorf("%d CAs; the bundle holds %d: %v", len(all), i, all.holds(p))
		}
	}
	if again := parseBundle(all.pem()); !again.has(all) || !all.has(again) || !bytes.Equal(again.pem(), all.pem()) {
		t.Error("it is not what it was after it was read again")
	}
	end := ends[3].ca.NotAfter
	if !all.with(nil, end.Add(skew-time.Second)).holds(ends[3]) || all.with(nil, end.Add(skew)).holds(ends[3]) {
		t.Error("a CA does not leave at its end and a week")
	}
	if n := len(parseBundle([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))); n != 0 {
		t.Error("what is no certificate is read")
	}
}

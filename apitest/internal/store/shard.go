package store

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// This file implements server-side sharding (KEP-5866), as in kube-apiserver 1.37 with
// the feature gate ShardedListAndWatch: the parameter shardSelector of lists and
// watches.

// Sharding is a parsed shardSelector; nil = none.
type Sharding struct {
	field string // "object.metadata.uid" or "object.metadata.namespace"
	shard kube.Shard
	Text  string // repeated in the metadata of a list
}

func (s *Sharding) matches(o *object.Object) bool {
	switch {
	case s == nil:
		return true
	case s.field == uidField:
		return s.shard.Has(o.Meta.UID)
	}
	return s.shard.Has(o.Key.Namespace)
}

const (
	uidField       = "object.metadata.uid"
	namespaceField = "object.metadata.namespace"
)

// shardTerm matches a call of shardRange. Its arguments are checked afterwards: each
// error has its own text.
var shardTerm = regexp.MustCompile(`^\s*([A-Za-z_]\w*)\(\s*([\w.]+)\s*,\s*(?:'([^']*)'|"([^"]*)")\s*,\s*(?:'([^']*)'|"([^"]*)")\s*\)\s*$`)

// parseSharding parses a shardSelector. As in kube-apiserver, an error is a 500 without
// a reason.
func parseSharding(s string) (*Sharding, *kube.Status) {
	bad := func(format string, args ...any) (*Sharding, *kube.Status) {
		return nil, wire.Raw("invalid shard selector: "+format, args...)
	}
	if strings.TrimSpace(s) == "" {
		return bad("empty shard selector is not allowed; omit the parameter for unfiltered lists")
	}
	var ranges []kube.HashRange
	var texts []string
	p := &Sharding{}
	for term := range strings.SplitSeq(s, "||") {
		m := shardTerm.FindStringSubmatch(term)
		switch {
		case m == nil:
			return bad("CEL parse error: Syntax error: %q is not a call of shardRange with three arguments", term)
		case m[1] != "shardRange":
			return bad("unsupported function %q; only shardRange() and || are allowed", m[1])
		case m[2] != uidField && m[2] != namespaceField:
			return bad("unsupported field path %q; supported: object.metadata.uid, object.metadata.namespace", m[2])
		case p.field != "" && p.field != m[2]:
			return bad("all shard ranges must use the same field, got %q and %q", p.field, m[2])
		}
		start, end := m[3]+m[4], m[5]+m[6]
		for _, bound := range [...]struct{ name, hex string }{{"hexStart", start}, {"hexEnd", end}} {
			if !hashBound.MatchString(bound.hex) {
				return bad("%s must be a 0x-prefixed 16-digit hex value, got %q", bound.name, bound.hex)
			}
		}
		if len(start) > len(end) || len(start) == len(end) && start >= end {
			return bad("shard range start %s must be less than end %s", start, end)
		}
		r := kube.HashRange{Last: math.MaxUint64}
		r.First, _ = strconv.ParseUint(start, 0, 64) // hashBound has matched, and start is less than end
		if end != hashEnd {
			last, _ := strconv.ParseUint(end, 0, 64)
			r.Last = last - 1
		}
		p.field, ranges = m[2], append(ranges, r)
		texts = append(texts, "shardRange("+m[2]+", '"+start+"', '"+end+"')")
	}
	p.Text = strings.Join(texts, " || ")
	var err error
	if p.shard, err = kube.NewShard(ranges...); err != nil {
		return bad("%v", err)
	}
	return p, nil
}

const hashEnd = "0x10000000000000000" // 2^64

var hashBound = regexp.MustCompile(`^0x([0-9a-f]{16}|10000000000000000)$`)

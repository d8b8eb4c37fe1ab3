package watch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

func TestMachineShard(t *testing.T) {
	listing, streaming := state{op: OpList}, state{op: OpStream}
	midList := listing
	midList.cur.Page(codec.ListMeta{ResourceVersion: "5", Continue: "tok"}, 1)
	watching, probing := state{op: OpWatch, from: "5", settled: true}, state{op: OpProbe, from: "5", settled: true}
	doubting := func(s state) state {
		s.noShard, s.doubt = true, internal
		return s
	}
	decided := watching
	decided.noShard = true
	for _, tt := range []struct {
		name string
		mode Initial
		s    state
		o    outcome
		want next
	}{
		{"a list that may be refused for it is sent again without it", Paged, listing, outcome{err: internal}, next{Op: OpList, First: true, NoShard: true}},
		{"a watch too", Auto, watching, outcome{err: invalid}, next{Op: OpWatch, From: "5", NoShard: true}},
		{"a stream too, before it is given up", Auto, streaming, outcome{err: invalid}, next{Op: OpStream, NoShard: true}},
		{"a page too", Paged, midList, outcome{err: invalid}, next{Op: OpList, NoShard: true}},
		{"what is refused without it too is judged as ever", Paged, doubting(listing), outcome{err: invalid}, next{Op: OpNone, Ends: true}},
		{"a 500 without it too is asked again with it", Paged, doubting(listing), outcome{err: internal}, next{Op: OpList, First: true, Wait: 800 * ms}},
		{"another failure in between decides nothing", Paged, doubting(listing), outcome{err: unavailable}, next{Op: OpList, First: true, Wait: 800 * ms, NoShard: true}},
		{"a success without it decides", Paged, doubting(listing), outcome{meta: codec.ListMeta{ResourceVersion: "5"}}, next{Op: OpWatch, From: "5", NoShard: true}},
		{"for good", Auto, decided, outcome{err: internal}, next{Op: OpWatch, From: "5", Wait: 800 * ms, NoShard: true}},
		{"an ERROR 500 amid a watch is none of its business", Auto, watching, outcome{err: internal, opened: true}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"a probe has none", Auto, probing, outcome{err: internal}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"a page of other shards is not empty", Paged, listing, outcome{meta: codec.ListMeta{ResourceVersion: "5", Continue: "t"}, outside: 1}, next{Op: OpList}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := testProtocol(tt.mode)
			p.opts.Shard = kube.EqualShard(1, 3)
			if diff := cmp.Diff(tt.want, p.step(tt.s, tt.o).next()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	empty := outcome{meta: codec.ListMeta{ResourceVersion: "5", Continue: "t"}}
	p := testProtocol(Paged)
	alone, others := p.step(listing, empty).debt, p.step(listing, outcome{meta: empty.meta, outside: 499}).debt
	if alone != requestCost || others >= 10*time.Millisecond {
		t.Errorf("an empty page costs %v, one of other shards %v", alone, others)
	}
}

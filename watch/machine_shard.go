package watch

import "github.com/listwatch/listwatch/list"

// sharded decides whether the next requests have a shardSelector. A request that may
// have been refused because of it is sent again at once without it. If that succeeds,
// all further requests are without it; if it is refused too, there was another reason.
func sharded(s state, o outcome) (_ state, again bool) {
	refused := !o.opened && list.MayRefuseShard(o.err)
	switch {
	case !s.noShard && refused:
		s.noShard, s.doubt = true, o.err
		return s, true
	case s.doubt != nil && refused:
		s.noShard, s.doubt = false, nil
	case o.opened || s.op == OpList && o.err == nil:
		s.doubt = nil
	}
	return s, false
}

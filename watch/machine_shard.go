package watch

import "github.com/listwatch/listwatch/list"

// sharded decides whether the next requests have a shardSelector. One that may have been
// refused for it is sent again at once without it. If that succeeds, all that follow are
// without it; if it is refused too, the reason was another one.
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

package client

import (
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Change decodes object, which is JSON, into a T, calls f, and returns object with the changes that
// f made; differs reports whether there are any. It sends no request. Members that T does not have
// are kept, or the error is an *[AmbiguousError]; see [Collection.Update]. For an object that does
// not fit T the error is a *codec.SyntaxError or *codec.DecodeError. If f fails, Change returns its
// error.
func Change[T kube.Object](object []byte, f func(*T) error) (changed []byte, differs bool, err error) {
	s, err := stateOf[T](object)
	if err != nil {
		return nil, false, err
	}
	after, err := s.change(f)
	if err != nil || after == nil {
		return object, false, err
	}
	changed, err = codec.Encode(after)
	return changed, true, err
}

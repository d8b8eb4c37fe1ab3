package codec

import (
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

// Numbers of the fields of an identity, in ObjectMeta, which is field 1 of every
// object.
const (
	metadataField        = 1
	nameField            = 1
	namespaceField       = 3
	uidField             = 5
	resourceVersionField = 6
	annotationsField     = 12
)

// skimProtobuf reads the identity of an object in protobuf, and whether it ends the
// initial events. A truncated object is an error, and the identity contains what was
// read before it.
func skimProtobuf(object []byte) (id Identity, initialEnd bool, err error) {
	meta := func(number uint64, part []byte) error {
		switch number {
		case nameField:
			id.Name = string(validUTF8(part))
		case namespaceField:
			id.Namespace = string(validUTF8(part))
		case uidField:
			id.UID = string(validUTF8(part))
		case resourceVersionField:
			id.ResourceVersion = string(validUTF8(part))
		case annotationsField:
			var key, value []byte
			err := eachPart(part, func(number uint64, part []byte) error {
				switch number {
				case 1:
					key = part
				case 2:
					value = part
				}
				return nil
			})
			if initialEnd = initialEnd || string(key) == "k8s.io/initial-events-end" && string(value) == "true"; err != nil {
				return err
			}
		}
		return nil
	}
	err = eachPart(object[len("k8s\x00"):], func(number uint64, part []byte) error {
		switch number {
		case 1:
			return eachPart(part, func(number uint64, part []byte) error {
				switch number {
				case 1:
					id.APIVersion = string(validUTF8(part))
				case 2:
					id.Kind = string(validUTF8(part))
				}
				return nil
			})
		case 2:
			return eachPart(part, func(number uint64, part []byte) error {
				if number == metadataField {
					return eachPart(part, meta)
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return id, initialEnd, &SyntaxError{Form: "protobuf", Msg: err.Error()}
	}
	return id, initialEnd, nil
}

// Outside reports whether an object is not in a shard, without decoding it, and returns
// its resource version. An object that cannot be read up to its UID counts as inside:
// decoding it reports the error.
func Outside(s kube.Shard, object []byte) (rv kube.Revision, outside bool) {
	if s.All() {
		return "", false
	}
	if protojson.Is(object) {
		id, _, err := skimProtobuf(object)
		return kube.Revision(id.ResourceVersion), (err == nil || id.UID != "") && !s.Has(id.UID)
	}
	var o outline
	err := o.read(object)
	if id := o.ids[uid]; err != nil && id.len() == 0 || s.HasHash(hashOf(object, id)) {
		return "", false
	}
	return kube.Revision(text(object, o.ids[resourceVersion])), true
}

// hashOf returns the hash of the UID at id.
func hashOf(b []byte, id span) uint64 {
	if id.escaped {
		return kube.HashUID(text(b, id))
	}
	return kube.HashUID(validUTF8(id.of(b)))
}

// UID reads the UID of an object, "" if it has none.
func UID(object []byte) string {
	if !protojson.Is(object) {
		id, _ := Skim(object)
		return id.UID
	}
	e, err := protojson.Open(object)
	if err != nil {
		return ""
	}
	meta, err := protojson.Part(e.Raw, metadataField)
	if err != nil {
		return ""
	}
	uid, _ := protojson.Part(meta, uidField)
	return string(validUTF8(uid))
}

// eachPart calls f with the bytes fields of a message. If the last one is truncated, f
// gets its available bytes, and eachPart returns an error.
func eachPart(b []byte, f func(number uint64, part []byte) error) error {
	for w := protojson.Wire(b); len(w) > 0; {
		number, typ, err := w.Tag()
		switch {
		case err != nil:
		case typ != protojson.Bytes:
			err = w.Skip(typ)
		default:
			at := w
			part, cut := w.Bytes()
			if cut != nil {
				n, _ := at.Varint()
				if part = at; n <= uint64(len(at)) { // the length itself is truncated
					return cut
				}
			}
			if err = f(number, part); err == nil {
				err = cut
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ItemTooLarge describes an item of a list that exceeds limit, by its first bytes. It
// returns nil if they do not contain its name.
func ItemTooLarge(start []byte, size, limit int) *ItemError {
	id, _ := Skim(start)
	if id.Name == "" {
		return nil
	}
	return &ItemError{Identity: id.clean(), Size: size, Err: &LimitError{What: "item", Limit: limit}}
}

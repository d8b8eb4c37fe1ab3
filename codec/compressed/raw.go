package compressed

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/klauspost/compress/s2"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Raw is a [codec.Raw] whose JSON is compressed after a Compressor has processed it. It
// is immutable, and may be copied and shared between goroutines. The zero value is no
// object.
//
// The getters of the identity return parts of the allocation that holds the object: use
// strings.Clone for strings that must not keep it in memory.
type Raw struct {
	packed string  // result of pack; "" = not packed
	from   *origin // nil = packed without a dictionary, or no object
}

// An origin is the data of a Raw besides its own bytes: the dictionary, which many
// share, or the whole object.
type origin struct {
	dict  *s2.Dict
	whole codec.Raw // not packed
}

// Of returns r uncompressed.
func Of(r codec.Raw) Raw {
	if r.IsZero() {
		return Raw{}
	}
	return Raw{from: &origin{whole: r}}
}

// FromRaw is Of, for [codec.DecoderOf].
func (Raw) FromRaw(r codec.Raw) Raw { return Of(r) }

// whole returns the object if it is not packed, else no object.
func (r Raw) whole() codec.Raw {
	if r.packed != "" || r.from == nil {
		return codec.Raw{}
	}
	return r.from.whole
}

// IsZero reports whether r is no object.
func (r Raw) IsZero() bool { return r.packed == "" && r.from == nil }

// Format writes the name of the object, whatever the verb, and nothing that it holds, as
// [codec.Raw.Format] does.
func (r Raw) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.title()) }

// LogValue is what Format writes.
func (r Raw) LogValue() slog.Value { return slog.StringValue(r.title()) }

func (r Raw) title() string {
	if r.IsZero() {
		return "no object"
	}
	return kube.KeyOf(r).String()
}

// GetNamespace returns metadata.namespace.
func (r Raw) GetNamespace() string { return r.id(namespace) }

// GetName returns metadata.name.
func (r Raw) GetName() string { return r.id(name) }

// GetUID returns metadata.uid.
func (r Raw) GetUID() string { return r.id(uid) }

// GetResourceVersion returns metadata.resourceVersion.
func (r Raw) GetResourceVersion() string { return r.id(revision) }

func (r Raw) id(which int) string {
	if r.packed == "" {
		return identity(r.whole())[which]
	}
	id, _ := part(r.packed, which)
	return id
}

// Raw returns the decompressed object. The caller owns it, unless r was never
// compressed. An error means that memory was damaged.
func (r Raw) Raw() (codec.Raw, error) {
	if r.packed == "" {
		return r.whole(), nil
	}
	var dict *s2.Dict
	if r.from != nil {
		dict = r.from.dict
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	if err := s.unpack(r.packed, dict); err != nil {
		return codec.Raw{}, err
	}
	// The JSON comes from a Raw: managedFields, if there are any, are kept.
	full, err := codec.ParseRawFull(s.json)
	return full.Raw, err
}

// Decode decodes the object into the value that into points to, as [codec.Raw.Decode]
// does.
func (r Raw) Decode(into any) error {
	raw, err := r.Raw()
	if err != nil {
		return err
	}
	return raw.Decode(into)
}

// GetLabels returns a copy of the labels, nil if there are none.
func (r Raw) GetLabels() map[string]string {
	raw, _ := r.Raw()
	return raw.GetLabels()
}

// GetOwnerReferences returns a copy of the owner references, nil if there are none or
// they are invalid.
func (r Raw) GetOwnerReferences() []kube.OwnerReference {
	raw, _ := r.Raw()
	return raw.GetOwnerReferences()
}

// MarshalJSON returns a copy of the JSON, null for no object.
func (r Raw) MarshalJSON() ([]byte, error) {
	raw, err := r.Raw()
	if err != nil {
		return nil, err
	}
	return raw.MarshalJSON()
}

// UnmarshalJSON is [codec.ParseRaw] and Of; null changes nothing.
func (r *Raw) UnmarshalJSON(b []byte) error {
	var raw codec.Raw
	if err := raw.UnmarshalJSON(b); err != nil {
		return err
	}
	if !raw.IsZero() {
		*r = Of(raw)
	}
	return nil
}

// MemorySize returns the memory of r in bytes, without its dictionary.
func (r Raw) MemorySize() int {
	if r.packed == "" {
		return r.whole().MemorySize()
	}
	return len(r.packed)
}

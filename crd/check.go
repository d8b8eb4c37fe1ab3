package crd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// Invalid is a stored object that does not fit a definition.
type Invalid struct {
	Key    kube.Key
	Faults []Fault
}

func (i Invalid) String() string {
	s := i.Key.String() + ": " + i.Faults[0].String()
	if n := len(i.Faults) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// maxInvalid limits what Check collects.
const maxInvalid = 1000

// Check returns the objects on the server that do not fit d: those that the server would no
// longer create, and those that would lose a member. Servers may accept updates that do not
// change an invalid member. Check lists all objects in pages, in the version that d stores, or,
// if the server does not serve that yet, in another version of d. It returns at most 1000
// objects, and none if the server does not have the definition yet. Check does not evaluate CEL
// rules and conversions by a webhook. The formats of strings that it evaluates are byte, cidr,
// date, date-time, duration, ipv4, ipv6 and uuid.
func Check(ctx context.Context, c *client.Client, d *Definition) ([]Invalid, error) {
	old, err := d.stored(ctx, c)
	if errors.Is(err, kube.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check stored objects: %w", err)
	}
	v := d.common(&old.Definition)
	if v == nil {
		return nil, fmt.Errorf("check stored objects of %s: the server serves no version of the new definition: keep one", d.Metadata.Name)
	}
	var invalid []Invalid
	for o, err := range list.New(client.Of[codec.Raw](c, d.resource(v.Name)), list.Options{}).All(ctx) {
		if err != nil {
			return invalid, fmt.Errorf("check stored objects: %w", err)
		}
		if f := d.faults(v, []byte(o.JSON())); len(f) > 0 {
			invalid = append(invalid, Invalid{Key: kube.KeyOf(o), Faults: f})
		}
		if len(invalid) == maxInvalid {
			break
		}
	}
	return invalid, nil
}

// common returns the version of d in which the objects of the old definition are read:
// the stored one where the server serves it.
func (d *Definition) common(old *Definition) (v *Version) {
	for i := range d.Spec.Versions {
		n := &d.Spec.Versions[i]
		if was := old.version(n.Name); was != nil && was.Served && n.Schema.OpenAPIV3Schema != nil && (v == nil || n.Storage) {
			v = n
		}
	}
	return v
}

// faults returns how a whole object of v does not fit d. If no webhook converts, a write drops
// what the stored version lacks.
func (d *Definition) faults(v *Version, object []byte) []Fault {
	list, stored := v.faults(object), d.stores()
	if stored == nil || stored == v || stored.Schema.OpenAPIV3Schema == nil || d.strategy() != "None" {
		return list
	}
	value, err := decode(object)
	if err != nil {
		return list
	}
	for _, path := range lost(stored.root(), value, "") {
		if !slices.ContainsFunc(list, func(f Fault) bool { return f.Pruned && f.Path == path }) {
			list = append(list, Fault{Path: path, Message: fmt.Sprintf("is not in the version %s, which is stored, and no webhook converts", stored.Name), Pruned: true})
		}
	}
	return list
}

// faults returns how a whole object does not fit the version.
func (v *Version) faults(object []byte) []Fault { return faults(v.root(), object) }

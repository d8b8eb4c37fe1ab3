// Package crd makes CustomResourceDefinitions from Go structs, without a generator, and
// installs them.
//
//	greetings := kube.Resource{Group: "example.com", Version: "v1", Plural: "greetings", Kind: "Greeting", Namespaced: true}
//	def, err := crd.Of[Greeting](greetings, crd.Options{ShortNames: []string{"gr"}})
//	err = crd.Ensure(ctx, c, crd.EnsureOptions{}, def)
//
// [Of] reads the struct as encoding/json does. A member is required unless its json tag
// has omitempty or omitzero, it belongs to an embedded pointer, or it has a default. A
// member status is a subresource by default. These tags add to the type:
//
//	crd:"..."      words: required, optional, nullable, min=N, max=N (of a number, or of the
//	               length of anything else), exclusiveMin, exclusiveMax, multipleOf=N,
//	               enum=a|b, default=V, format=F, listType=atomic|set|map, listMapKey=NAME,
//	               mapType=atomic|granular, preserve (unknown members), embedded (a whole
//	               object), immutable (not changed, added or removed), selectable
//	each:"..."     words as in crd, for the elements of a list or the values of a map
//	default:"..."  default, in JSON unless it is a string; may contain commas
//	pattern:"..."  regular expression for a string
//	cel:"..."      rule, with a message:"..."; cel2 and message2 add another one
//	column:"..."   NAME[,PATH][,priority=N][,type=T] of kubectl get; column2 adds another one
//	desc:"..."     description
//
// Tags of the struct itself, such as rules over several members, belong to a field _ of
// type struct{}. The word immutable adds a rule to the struct around the member. The
// server evaluates it only if the struct exists both before and after a write.
//
// Only a server compiles CEL: [Ensure] with DryRun checks it. [Diff] returns the differences from
// the definition on the server, and which of them break stored objects or clients, as far as the
// schemas show that. [Check] returns the stored objects that do not fit.
package crd

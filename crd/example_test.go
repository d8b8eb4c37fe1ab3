package crd_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
)

// Greeting asks for a text to be said.
type Greeting struct {
	kube.Meta `json:"metadata"`
	Spec      GreetingSpec   `json:"spec"`
	Status    GreetingStatus `json:"status,omitzero"`

	_ struct{} `desc:"Greeting asks for a text to be said." column:"Age,.metadata.creationTimestamp"`
}

// GreetingSpec is the desired state.
type GreetingSpec struct {
	Text  string   `json:"text" crd:"min=1,max=80,immutable" column:"Text"`
	Tone  string   `json:"tone,omitempty" crd:"enum=loud|soft,default=soft"`
	Times int32    `json:"times,omitempty" crd:"min=1,max=10,default=1" desc:"How often it is said."`
	Langs []string `json:"langs,omitempty" crd:"max=5,listType=set" each:"max=8"`

	_ struct{} `cel:"self.tone != 'loud' || self.times <= 3" message:"at most 3 times if it is loud"`
}

// GreetingStatus is the observed state.
type GreetingStatus struct {
	Said int32 `json:"said,omitempty" column:"Said,priority=1"`
}

// ShortGreeting is Greeting in the next release.
type ShortGreeting struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Text string `json:"text" crd:"min=1,max=4,immutable"`
	} `json:"spec"`
	Status GreetingStatus `json:"status,omitzero"`
}

var greetings = kube.Resource{Group: "example.com", Version: "v1", Plural: "greetings", Kind: "Greeting", Namespaced: true}

// The definition of a struct, for kubectl apply -f: a program prints it by a flag.
func Example() {
	def, err := crd.Of[Greeting](greetings, crd.Options{ShortNames: []string{"gr"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := def.YAML()
	fmt.Print(string(text))
	fmt.Println(err)
	// Output:
	// apiVersion: apiextensions.k8s.io/v1
	// kind: CustomResourceDefinition
	// metadata:
	//   name: greetings.example.com
	// spec:
	//   group: example.com
	//   names:
	//     plural: greetings
	//     singular: greeting
	//     kind: Greeting
	//     listKind: GreetingList
	//     shortNames:
	//     - gr
	//   scope: Namespaced
	//   versions:
	//   - name: v1
	//     served: true
	//     storage: true
	//     additionalPrinterColumns:
	//     - name: Text
	//       type: string
	//       jsonPath: .spec.text
	//     - name: Said
	//       type: integer
	//       priority: 1
	//       jsonPath: .status.said
	//     - name: Age
	//       type: date
	//       jsonPath: .metadata.creationTimestamp
	//     subresources:
	//       status: {}
	//     schema:
	//       openAPIV3Schema:
	//         description: Greeting asks for a text to be said.
	//         type: object
	//         required:
	//         - spec
	//         properties:
	//           spec:
	//             type: object
	//             required:
	//             - text
	//             properties:
	//               langs:
	//                 type: array
	//                 maxItems: 5
	//                 items:
	//                   type: string
	//                   maxLength: 8
	//                 x-kubernetes-list-type: set
	//               text:
	//                 type: string
	//                 minLength: 1
	//                 maxLength: 80
	//               times:
	//                 description: How often it is said.
	//                 type: integer
	//                 format: int32
	//                 default: 1
	//                 minimum: 1
	//                 maximum: 10
	//               tone:
	//                 type: string
	//                 default: soft
	//                 enum:
	//                 - loud
	//                 - soft
	//             x-kubernetes-validations:
	//             - rule: "self.tone != 'loud' || self.times <= 3"
	//               message: at most 3 times if it is loud
	//             - rule: "self.text == oldSelf.text"
	//               message: text is immutable
	//               fieldPath: .text
	//           status:
	//             type: object
	//             properties:
	//               said:
	//                 type: integer
	//                 format: int32
	// <nil>
}

// At its start an operator installs its definitions, and waits until they are served.
func ExampleEnsure() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.CloseIdleConnections()
	ctx := context.Background()

	def, err := crd.Of[Greeting](greetings, crd.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := crd.Ensure(ctx, c, crd.EnsureOptions{}, def); err != nil {
		fmt.Println(err)
		return
	}
	g := Greeting{Meta: kube.Meta{Namespace: "default", Name: "hello"}, Spec: GreetingSpec{Text: "Hello"}}
	g, err = client.Of[Greeting](c, greetings).Create(ctx, g)
	fmt.Println(g.Spec.Tone, g.Spec.Times, err)

	// The next release of the program has a smaller limit.
	def, err = crd.Of[ShortGreeting](greetings, crd.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	changes, err := crd.Diff(ctx, c, def)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, change := range changes {
		fmt.Println(change)
	}
	invalid, err := crd.Check(ctx, c, def)
	fmt.Println(invalid, err)
	// Output:
	// soft 1 <nil>
	// v1: spec: rule "self.tone != 'loud' || self.times <= 3" removed
	// v1: spec.langs: removed: the server drops it from stored objects (breaking)
	// v1: spec.text: maxLength changed from 80 to 4, which is tighter (breaking)
	// v1: spec.times: removed: the server drops it from stored objects (breaking)
	// v1: spec.tone: removed: the server drops it from stored objects (breaking)
	// [default/hello: spec.text: has 5 characters: want at most 4 (and 2 more)] <nil>
}

// A version that was served before stays, until no object is stored in it.
func ExampleVersionOf() {
	def, err := crd.Of[Greeting](greetings, crd.Options{
		Also: []crd.Version{crd.VersionOf[ShortGreeting]("v1alpha1", crd.VersionOptions{Deprecated: "use v1"})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range def.Spec.Versions {
		fmt.Printf("%s stored=%t %q\n", v.Name, v.Storage, v.DeprecationWarning)
	}
	// Output:
	// v1 stored=true ""
	// v1alpha1 stored=false "use v1"
}

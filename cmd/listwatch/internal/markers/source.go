package markers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/internal/disk"
)

// Limits of a source file, and of a comment in it, which may be a marker, in bytes.
const (
	maxSource  = 8 << 20
	maxComment = 1 << 20
)

// source is the packages that were read.
type source struct {
	files  *token.FileSet
	byDir  map[string]*folder
	byPath map[string]*folder // by import path
	places map[string]place   // by import path
	errs   []error
}

// fail notes what is wrong at a node.
func (s *source) fail(n ast.Node, err error) {
	s.errs = append(s.errs, fmt.Errorf("%s: %w", s.files.Position(n.Pos()), err))
}

// folder is one package.
type folder struct {
	name      string
	path      string // as it was imported; empty for those below the folder of Read
	dir       string
	types     map[string]*typeDecl
	methods   map[string]bool              // those that make JSON, such as Level.MarshalText
	constants map[string][]json.RawMessage // by their types, in order: those that are texts
	order     []string
	markers   comments // before the package clause, and of no declaration
}

type typeDecl struct {
	in      *folder
	file    *ast.File
	spec    *ast.TypeSpec
	comment comments
}

// load parses the package in dir; nil if it has no Go files for this system.
func (s *source) load(dir string) (*folder, error) {
	if f := s.byDir[dir]; f != nil {
		return f, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f := &folder{dir: dir, types: map[string]*typeDecl{}, methods: map[string]bool{}, constants: map[string][]json.RawMessage{}}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_generated") || name[0] == '_' || name[0] == '.' || !forHost(name) {
			continue
		}
		file, err := s.parse(filepath.Join(dir, name))
		if file != nil && !built(file) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if f.name != "" && f.name != file.Name.Name {
			s.fail(file.Name, fmt.Errorf("the package %s: another file of this folder has the package %s", file.Name.Name, f.name))
			continue
		}
		f.name = file.Name.Name
		s.declarations(f, file)
	}
	if f.name == "" {
		return nil, nil
	}
	for _, values := range f.constants {
		sort.Slice(values, func(i, j int) bool { return bytes.Compare(values[i], values[j]) < 0 })
	}
	s.byDir[dir] = f
	return f, nil
}

// parse reads one file. What a link points to may be a device or a pipe, which has no end.
func (s *source) parse(path string) (*ast.File, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	text, err := disk.ReadFile(path, maxSource)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(s.files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file, err
	}
	for _, g := range file.Comments {
		for _, c := range g.List {
			if len(c.Text) > maxComment {
				return nil, fmt.Errorf("%s: a comment is larger than %d bytes", s.files.Position(c.Pos()), maxComment)
			}
		}
	}
	return file, nil
}

func (s *source) declarations(f *folder, file *ast.File) {
	s.dropTrailing(file)
	for _, g := range file.Comments {
		if g.Pos() < file.Name.Pos() || s.alone(file, g) {
			f.markers.read(g, true)
		}
	}
	last := file.Name.End()
	for _, d := range file.Decls {
		after := last
		last = d.End()
		if m, ok := d.(*ast.FuncDecl); ok {
			f.method(m)
		}
		decl, ok := d.(*ast.GenDecl)
		if ok && decl.Tok == token.CONST {
			f.texts(decl)
		}
		if !ok || decl.Tok != token.TYPE {
			continue
		}
		group := decl.Lparen.IsValid()
		if group {
			after = decl.Lparen
			s.lost(decl.Doc)
		}
		for _, spec := range decl.Specs {
			t := &typeDecl{in: f, file: file, spec: spec.(*ast.TypeSpec)}
			if group {
				t.comment = s.comments(file, t.spec.Doc, after, spec.Pos())
			} else {
				t.comment = s.comments(file, decl.Doc, after, decl.Pos())
			}
			after = spec.End()
			if f.types[t.spec.Name.Name] != nil && t.spec.Name.Name != "_" {
				s.fail(t.spec, fmt.Errorf("the type %s is declared twice in this package", t.spec.Name.Name))
				continue
			}
			f.types[t.spec.Name.Name] = t
			f.order = append(f.order, t.spec.Name.Name)
		}
	}
}

// dropTrailing removes the comments behind fields, types, constants and variables: they hold no
// markers, and those of the next declaration are looked for among the rest.
func (s *source) dropTrailing(file *ast.File) {
	trailing := map[*ast.CommentGroup]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.ValueSpec:
			trailing[n.Comment] = true
		case *ast.TypeSpec:
			trailing[n.Comment] = true
			s.lost(n.Comment)
		case *ast.Field:
			trailing[n.Comment] = true
			s.lost(n.Comment)
		}
		return true
	})
	file.Comments = slices.DeleteFunc(file.Comments, func(g *ast.CommentGroup) bool { return trailing[g] })
}

// lost reports markers where none are read.
func (s *source) lost(g *ast.CommentGroup) {
	var c comments
	c.read(g, true)
	for _, m := range c.markers {
		if effective.MatchString(m.name) {
			s.fail(g, fmt.Errorf("the marker +%s must stand on a line of its own, above its type or field", m.name))
		}
	}
}

// method notes a method that makes the JSON of its type.
func (f *folder) method(d *ast.FuncDecl) {
	if d.Recv == nil || d.Name.Name != "MarshalJSON" && d.Name.Name != "MarshalText" || d.Type.Params.NumFields() > 0 || d.Type.Results.NumFields() != 2 {
		return
	}
	of := d.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if id, ok := of.(*ast.Ident); ok {
		f.methods[id.Name+"."+d.Name.Name] = true
	}
}

// texts notes the constants that have a type and are literal texts.
func (f *folder) texts(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		typ, ok := v.Type.(*ast.Ident)
		if !ok {
			continue
		}
		for _, e := range v.Values {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value) // the parser has seen that it is right
				b, _ := json.Marshal(text)
				f.constants[typ.Name] = append(f.constants[typ.Name], b)
			}
		}
	}
}

// alone reports whether a group of comments belongs to no type.
func (s *source) alone(file *ast.File, g *ast.CommentGroup) bool {
	i := sort.Search(len(file.Decls), func(i int) bool { return file.Decls[i].End() >= g.Pos() })
	if i == len(file.Decls) {
		return true
	}
	decl, ok := file.Decls[i].(*ast.GenDecl) // around the group, or next to it
	if !ok || decl.Tok != token.TYPE {
		return true
	}
	start := decl.Pos()
	if decl.Doc != nil {
		start = decl.Doc.Pos()
	}
	return g.Pos() < start && s.line(start)-s.line(g.End()) != 2
}

func (s *source) line(p token.Pos) int { return s.files.Position(p).Line }

// comments returns those of the declaration at a position: its own, and the markers of
// the group before it, with an empty line between, if that group is after the declaration
// before.
func (s *source) comments(file *ast.File, doc *ast.CommentGroup, after, at token.Pos) (c comments) {
	if doc != nil {
		at = doc.Pos()
	}
	end := sort.Search(len(file.Comments), func(i int) bool { return file.Comments[i].End() >= at })
	if end > 0 {
		if g := file.Comments[end-1]; g.Pos() > after && s.line(at)-s.line(g.End()) == 2 {
			c.read(g, true)
		}
	}
	c.read(doc, false)
	return c
}

// below returns the folders with Go files in dir and below, in order.
func below(dir string) (dirs []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (d.Name() == "testdata" || d.Name() == "vendor" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".go"):
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	})
	slices.Sort(dirs)
	return slices.Compact(dirs), err
}

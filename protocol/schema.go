package protocol

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schema tells how values of one Go type are decoded.
type schema struct {
	decode func(*jsontext.Decoder, reflect.Value) error

	// The rest is about structs.
	expected string // what error texts say of another value
	closed   bool   // members that are not known are refused
	ours     bool   // errors name the member that they are about
	fields   []field
	byName   map[string]int // index into fields
	union    union          // if one member tells which others there are
}

type field struct {
	name     string
	index    int // in the Go struct
	required bool
	object   string // what error texts call a raw value that must be an object
}

// wireNames are the names by which error texts call structs, where they differ
// from the Go type's.
var wireNames = map[reflect.Type]string{
	reflect.TypeFor[StartParams]():           "WireExecParams",
	reflect.TypeFor[EnvPolicy]():             "ExecEnvPolicy",
	reflect.TypeFor[Metadata]():              "ExecMetadata",
	reflect.TypeFor[ShellSnapshot]():         "ShellSnapshotRequest",
	reflect.TypeFor[Shell]():                 "ShellInfo",
	reflect.TypeFor[ManagedNetwork]():        "ManagedNetworkSandboxContext",
	reflect.TypeFor[NetworkProxy]():          "RemoteNetworkProxyLaunchConfig",
	reflect.TypeFor[ReadFileParams]():        "WireFsReadFileParams",
	reflect.TypeFor[WriteFileParams]():       "WireFsWriteFileParams",
	reflect.TypeFor[OpenFileParams]():        "WireFsOpenParams",
	reflect.TypeFor[ReadBlockParams]():       "FsReadBlockParams",
	reflect.TypeFor[WriteBlockParams]():      "FsWriteBlockParams",
	reflect.TypeFor[CloseFileParams]():       "FsCloseParams",
	reflect.TypeFor[CreateDirectoryParams](): "WireFsCreateDirectoryParams",
	reflect.TypeFor[GetMetadataParams]():     "WireFsGetMetadataParams",
	reflect.TypeFor[CanonicalizeParams]():    "WireFsCanonicalizeParams",
	reflect.TypeFor[ReadDirectoryParams]():   "WireFsReadDirectoryParams",
	reflect.TypeFor[WalkParams]():            "WireFsWalkParams",
	reflect.TypeFor[RemoveParams]():          "WireFsRemoveParams",
	reflect.TypeFor[CopyParams]():            "WireFsCopyParams",
	reflect.TypeFor[WatchMissingParams]():    "FsWatchMissingParams",
	reflect.TypeFor[HTTPRequestParams]():     "HttpRequestParams",
	reflect.TypeFor[HTTPHeaderParam]():       "HttpRequestHeader",

	reflect.TypeFor[SandboxContext]():       "WireFileSystemSandboxContext",
	reflect.TypeFor[SandboxPolicyContext](): "WireFileSystemPolicyContext",
	reflect.TypeFor[SandboxEntry]():         "ExecFileSystemSandboxEntry",
	reflect.TypeFor[PermissionProfile]():    "ExecPermissionProfile",
	reflect.TypeFor[FileSystemPolicy]():     "ExecManagedFileSystemPermissions",
	reflect.TypeFor[SandboxPath]():          "ExecFileSystemPath",
	reflect.TypeFor[SpecialPath]():          "FileSystemSpecialPath",

	reflect.TypeFor[DiscoverRootsParams]():        "WireCapabilityRootsDiscoverParams",
	reflect.TypeFor[DiscoverRoot]():               "WireCapabilityRootDiscoverRequest",
	reflect.TypeFor[DiscoverCapabilitiesParams](): "DiscoverV2CapabilitiesRequest",
}

// variants are the values of string types that have no others.
var variants = map[reflect.Type][]string{
	reflect.TypeFor[EnvInherit](): {string(InheritCore), string(InheritAll), string(InheritNone)},
	reflect.TypeFor[Signal]():     {string(SignalInterrupt)},
	reflect.TypeFor[Stream]():     {string(StreamStdout), string(StreamStderr), string(StreamPTY)},
	reflect.TypeFor[SignalName](): {
		string(SignalHUP), string(SignalINT), string(SignalQUIT), string(SignalKILL), string(SignalUSR1),
		string(SignalUSR2), string(SignalTERM), string(SignalCONT), string(SignalSTOP), string(SignalWINCH),
	},
	reflect.TypeFor[OpenMode]():       {string(OpenRead), string(OpenReplace)},
	reflect.TypeFor[EntryKind]():      {string(EntryFile), string(EntryDirectory)},
	reflect.TypeFor[RedirectPolicy](): {string(RedirectFollow), string(RedirectStop)},
	reflect.TypeFor[ChangeKind]():     {string(ChangeCreated), string(ChangeModified), string(ChangeRemoved)},
	reflect.TypeFor[WriteStatus]():    {string(WriteAccepted), string(WriteUnknownProcess), string(WriteStdinClosed), string(WriteStarting)},
	reflect.TypeFor[SandboxType](): {
		string(SandboxNone), string(SandboxSeatbelt), string(SandboxLinuxSeccomp),
		string(SandboxWindowsRestricted), string(SandboxWindowsMXC),
	},
	reflect.TypeFor[NetworkPolicy](): {string(NetworkRestricted), string(NetworkEnabled)},
	reflect.TypeFor[SandboxAccess](): {
		string(AccessRead), string(AccessWrite), string(AccessDeny), string(AccessNone),
	},
	reflect.TypeFor[MissingPathBehavior](): {string(MissingPathSkip)},
	reflect.TypeFor[SandboxOverride]():     {string(OverrideNone), string(OverrideEscalated), string(OverrideBypass)},
	reflect.TypeFor[WindowsSandboxLevel](): {
		string(WindowsSandboxDisabled), string(WindowsSandboxRestricted), string(WindowsSandboxElevated), string(WindowsSandboxMXC),
	},
	reflect.TypeFor[WindowsSandboxProxySettingsMode](): {string(ProxySettingsReconcile), string(ProxySettingsPreserve)},
}

// closed are structs that must not have members that are not known: who sets one
// relies on its effect.
var closed = map[reflect.Type]bool{reflect.TypeFor[ProcessLimits](): true}

// ours are structs of which the dialect knows nothing, so that no client knows the
// texts of errors about them.
var ours = map[reflect.Type]bool{
	reflect.TypeFor[InitializeExtra]():           true,
	reflect.TypeFor[StartExtra]():                true,
	reflect.TypeFor[TerminalSize]():              true,
	reflect.TypeFor[ProcessLimits]():             true,
	reflect.TypeFor[ProcessWindowNotification](): true,
	reflect.TypeFor[CloseStdinParams]():          true,
	reflect.TypeFor[ResizeParams]():              true,
	reflect.TypeFor[SendSignalParams]():          true,
	reflect.TypeFor[TerminateTreeParams]():       true,
	reflect.TypeFor[ListParams]():                true,
	reflect.TypeFor[ObserveParams]():             true,
	reflect.TypeFor[SessionTerminateParams]():    true,
	reflect.TypeFor[RenameParams]():              true,
	reflect.TypeFor[ChmodParams]():               true,
	reflect.TypeFor[ReadRangeParams]():           true,
	reflect.TypeFor[ByteRange]():                 true,
	reflect.TypeFor[LineRange]():                 true,
	reflect.TypeFor[SearchParams]():              true,
	reflect.TypeFor[WatchParams]():               true,
	reflect.TypeFor[UnwatchParams]():             true,
}

var (
	unitType            = reflect.TypeFor[Unit]()
	nonZeroType         = reflect.TypeFor[NonZero]()
	rawType             = reflect.TypeFor[jsontext.Value]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	unmarshalerFromType = reflect.TypeFor[json.UnmarshalerFrom]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

var schemas sync.Map // reflect.Type to *schema

func schemaOf(t reflect.Type) *schema {
	if s, ok := schemas.Load(t); ok {
		return s.(*schema)
	}
	s, _ := schemas.LoadOrStore(t, newSchema(t))
	return s.(*schema)
}

// newSchema panics for types that have no place on the wire. It does not look
// into elements and fields, which are looked up when they are met.
func newSchema(t reflect.Type) *schema {
	var s schema
	pointer := reflect.PointerTo(t)
	switch kind := t.Kind(); {
	case t == unitType:
		s.decode = decodeUnit
	case t == rawType:
		s.decode = decodeRaw
	case kind == reflect.Pointer:
		s.decode = decodePointer
	case pointer.Implements(unmarshalerFromType), pointer.Implements(unmarshalerType):
		s.decode = decodeCustom
	case pointer.Implements(textUnmarshalerType):
		s.decode = decodeText
	case variants[t] != nil:
		s.decode = decodeVariant
	case t == nonZeroType:
		s.decode = decodeNonZero
	case kind == reflect.String:
		s.decode = decodeString
	case kind == reflect.Bool:
		s.decode = decodeBool
	case reflect.Int <= kind && kind <= reflect.Int64:
		s.decode = decodeInt
	case reflect.Uint <= kind && kind <= reflect.Uint64:
		s.decode = decodeUint
	case kind == reflect.Slice:
		s.decode = decodeSlice
	case kind == reflect.Map:
		s.decode = decodeMap
	case kind == reflect.Struct:
		s.decode = s.decodeStruct
		if s.union = unions[t]; s.union.tag != "" {
			s.decode = s.decodeUnion
		}
		s.describe(t)
	default:
		panic("protocol: values of type " + t.String() + " can't be decoded")
	}
	return &s
}

// describe learns the fields of a struct.
func (s *schema) describe(t reflect.Type) {
	s.byName = make(map[string]int)
	s.closed, s.ours = closed[t], ours[t]
	switch name := wireNames[t]; {
	case name != "":
		s.expected = "struct " + name
	case t.Name() != "":
		s.expected = "struct " + t.Name()
	default:
		s.expected = "a map"
	}
	if s.union.tag != "" {
		s.expected = "internally tagged enum " + wireNames[t]
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || f.Anonymous {
			panic("protocol: " + t.String() + "." + f.Name + " has no name on the wire")
		}
		wire, object, _ := strings.Cut(f.Tag.Get("wire"), "=")
		optional := options == "omitzero" || wire == "optional" ||
			f.Type.Kind() == reflect.Pointer
		s.byName[name] = len(s.fields)
		s.fields = append(s.fields, field{name: name, index: i, required: !optional, object: object})
	}
	if len(s.fields) > 64 {
		panic("protocol: " + t.String() + " has more than 64 fields")
	}
}

func (s *schema) decodeStruct(dec *jsontext.Decoder, v reflect.Value) error {
	if dec.PeekKind() != '{' {
		return typeError(dec, s.expected)
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	var seen uint64
	for dec.PeekKind() != '}' {
		name, err := readText(dec, "a name")
		if err != nil {
			return err
		}
		i, known := s.byName[string(name)]
		if !known && s.closed {
			return fmt.Errorf("unknown field `%s`, expected %s", name, s.names())
		}
		if !known {
			if err := dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		seen |= 1 << i
		f := &s.fields[i]
		if kind := dec.PeekKind(); f.object != "" && kind != '{' && (f.required || kind != 'n') {
			return typeError(dec, "struct "+f.object)
		}
		if err := decodeValue(dec, v.Field(f.index)); err != nil && s.ours {
			return &memberError{f.name, err}
		} else if err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for i, f := range s.fields {
		if f.required && seen&(1<<i) == 0 {
			return fmt.Errorf("missing field `%s`", f.name)
		}
	}
	return nil
}

// names lists the members that there may be.
func (s *schema) names() string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return oneOf(names)
}

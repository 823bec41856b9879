package client

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/protocol"
)

// fakeFiles are the files of a fake: directories are the paths that others are below.
type fakeFiles struct {
	mu       sync.Mutex
	byPath   map[string]*fakeFile
	handles  map[*fakeLink]map[string]*fakeFile
	opened   []protocol.OpenFileParams
	hold     chan struct{} // if not nil, opening and watching wait for its end
	most     int           // bounds the entries of a walk
	watches  map[string]bool
	awaited  []protocol.WatchMissingParams
	unread   bool // blocks are empty without being the end
	requests []protocol.HTTPRequestParams
	made     chan struct{} // gets a token for a request, if there is none
}

type fakeFile struct {
	data     []byte
	modified int64
}

func newFakeFiles() *fakeFiles {
	return &fakeFiles{
		byPath: map[string]*fakeFile{}, handles: map[*fakeLink]map[string]*fakeFile{},
		most: 1 << 20, watches: map[string]bool{}, made: make(chan struct{}, 1),
	}
}

// put makes a file.
func (f *fakeFiles) put(path protocol.PathURI, data []byte) *fakeFile {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := &fakeFile{data: data, modified: 1}
	f.byPath[path.String()] = file
	return file
}

// open returns how many files are open over a connection, nil for all.
func (f *fakeFiles) open(l *fakeLink) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for link, handles := range f.handles {
		if l == nil || link == l {
			n += len(handles)
		}
	}
	return n
}

// opens returns what has asked for files to be opened.
func (f *fakeFiles) opens() []protocol.OpenFileParams {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.opened)
}

// awaiting returns the newest id of a watch for missing paths.
func (f *fakeFiles) awaiting() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.awaited[len(f.awaited)-1].WatchID
}

// connections returns how many there have been.
func (f *fake) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.opened)
}

// streaming returns how many bodies are still to come.
func (e *executor) streaming() int {
	e.streams.mu.Lock()
	defer e.streams.mu.Unlock()
	return len(e.streams.byID)
}

// gone closes what was open over a connection.
func (f *fakeFiles) gone(l *fakeLink) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.handles, l)
}

var errNoFile = protocol.Errorf(protocol.CodeNotFound, "No such file or directory (os error 2)")

func (f *fakeFiles) do(l *fakeLink, r rpc.Request) rpc.Reply {
	switch r.Method {
	case protocol.MethodOpenFile:
		return f.openFile(l, r)
	case protocol.MethodReadBlock:
		return answer(r, func(p *protocol.ReadBlockParams) (*protocol.ReadBlockResult, error) { return f.readBlock(l, p) })
	case protocol.MethodWriteBlock:
		return answer(r, func(p *protocol.WriteBlockParams) (*protocol.WriteBlockResult, error) { return f.writeBlock(l, p) })
	case protocol.MethodCloseFile:
		return answer(r, func(p *protocol.CloseFileParams) (*protocol.CloseFileResult, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.handles[l], p.HandleID)
			return &protocol.CloseFileResult{}, nil
		})
	case protocol.MethodGetMetadata:
		return answer(r, f.stat)
	case protocol.MethodReadFile:
		return answer(r, f.readFile)
	case protocol.MethodReadDirectory:
		return answer(r, f.readDirectory)
	case protocol.MethodWalk:
		return answer(r, f.walk)
	case protocol.MethodWatchMissing:
		return answer(r, f.watchMissing)
	case protocol.MethodWatch:
		return f.held(r, func(_ context.Context, r rpc.Request) rpc.Reply {
			return answer(r, func(p *protocol.WatchParams) (*protocol.WatchResult, error) {
				return &protocol.WatchResult{}, f.watch(p.WatchID, true)
			})
		})
	case protocol.MethodUnwatch:
		return answer(r, func(p *protocol.UnwatchParams) (*protocol.UnwatchResult, error) {
			return &protocol.UnwatchResult{}, f.watch(p.WatchID, false)
		})
	case protocol.MethodHTTPRequest:
		return answer(r, f.request)
	}
	return rpc.Reply{Err: protocol.Errorf(protocol.CodeMethodNotFound, "no %s", r.Method)}
}

// held answers when nothing is held back any more.
func (f *fakeFiles) held(r rpc.Request, do func(context.Context, rpc.Request) rpc.Reply) rpc.Reply {
	f.mu.Lock()
	hold := f.hold
	f.mu.Unlock()
	r.Params = r.Params.Clone()
	return rpc.Reply{Parked: true, Wait: func(ctx context.Context) rpc.Reply {
		if hold != nil {
			select {
			case <-hold:
			case <-ctx.Done():
			}
		}
		return do(ctx, r)
	}}
}

func (f *fakeFiles) openFile(l *fakeLink, r rpc.Request) rpc.Reply {
	return f.held(r, func(ctx context.Context, r rpc.Request) rpc.Reply {
		return answer(r, func(p *protocol.OpenFileParams) (*protocol.OpenFileResult, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			f.opened = append(f.opened, *p)
			file := f.byPath[p.Path.String()]
			keep := p.Airlock != nil && p.Airlock.Keep
			switch {
			case file == nil && p.Mode != protocol.OpenReplace:
				return nil, errNoFile
			case file == nil:
				file = &fakeFile{modified: 1}
				f.byPath[p.Path.String()] = file
			case p.Mode == protocol.OpenReplace && !keep:
				file.data = nil
			}
			if f.handles[l] == nil {
				f.handles[l] = map[string]*fakeFile{}
			}
			f.handles[l][p.HandleID] = file
			return &protocol.OpenFileResult{HandleID: p.HandleID}, nil
		})
	})
}

func (f *fakeFiles) readBlock(l *fakeLink, p *protocol.ReadBlockParams) (*protocol.ReadBlockResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.handles[l][p.HandleID]
	switch {
	case file == nil:
		return nil, protocol.Errorf(protocol.CodeNotFound, "unknown file handle `%s`", p.HandleID)
	case f.unread:
		return &protocol.ReadBlockResult{}, nil
	}
	rest := file.data[min(p.Offset, uint64(len(file.data))):]
	chunk := slices.Clone(rest[:min(p.Len, uint64(len(rest)))])
	return &protocol.ReadBlockResult{Chunk: chunk, EOF: uint64(len(chunk)) < p.Len}, nil
}

func (f *fakeFiles) writeBlock(l *fakeLink, p *protocol.WriteBlockParams) (*protocol.WriteBlockResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.handles[l][p.HandleID]
	if file == nil {
		return nil, protocol.Errorf(protocol.CodeNotFound, "unknown file handle `%s`", p.HandleID)
	}
	file.data = overwrite(file.data, p.Chunk, int(p.Offset))
	return &protocol.WriteBlockResult{}, nil
}

// overwrite writes over data, and behind it.
func overwrite(data, piece []byte, offset int) []byte {
	if missing := offset + len(piece) - len(data); missing > 0 {
		data = append(data, make([]byte, missing)...)
	}
	copy(data[offset:], piece)
	return data
}

func (f *fakeFiles) stat(p *protocol.GetMetadataParams) (*protocol.FileMetadata, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if file := f.byPath[p.Path.String()]; file != nil {
		return &protocol.FileMetadata{IsFile: true, Size: uint64(len(file.data)), ModifiedAtMs: file.modified}, nil
	}
	for path := range f.byPath {
		if strings.HasPrefix(path, p.Path.String()+"/") {
			return &protocol.FileMetadata{IsDirectory: true}, nil
		}
	}
	return nil, errNoFile
}

func (f *fakeFiles) readFile(p *protocol.ReadFileParams) (*protocol.ReadFileResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.byPath[p.Path.String()]
	if file == nil {
		return nil, errNoFile
	}
	return &protocol.ReadFileResult{DataBase64: slices.Clone(file.data)}, nil
}

// below returns what is in a directory, by its URIs.
func (f *fakeFiles) below(dir string) map[string]protocol.EntryKind {
	found := map[string]protocol.EntryKind{}
	for path := range f.byPath {
		rest, below := strings.CutPrefix(path, dir+"/")
		name, _, deeper := strings.Cut(rest, "/")
		switch {
		case !below:
		case deeper:
			found[dir+"/"+name] = protocol.EntryDirectory
		default:
			found[path] = protocol.EntryFile
		}
	}
	return found
}

func (f *fakeFiles) readDirectory(p *protocol.ReadDirectoryParams) (*protocol.ReadDirectoryResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	result := &protocol.ReadDirectoryResult{Entries: []protocol.DirectoryEntry{}}
	for path, kind := range f.below(p.Path.String()) {
		uri, _ := protocol.ParsePathURI(path)
		result.Entries = append(result.Entries, protocol.DirectoryEntry{
			FileName: uri.Base(), IsFile: kind == protocol.EntryFile, IsDirectory: kind == protocol.EntryDirectory,
		})
	}
	return result, nil
}

// walk walks in the order and with the bounds of the dialect.
func (f *fakeFiles) walk(p *protocol.WalkParams) (*protocol.WalkResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	result := &protocol.WalkResult{Entries: []protocol.WalkEntry{}, Errors: []protocol.WalkError{}}
	type waiting struct {
		path  string
		depth uint64
	}
	for queue := []waiting{{p.Path.String(), 0}}; len(queue) > 0; queue = queue[1:] {
		found := f.below(queue[0].path)
		paths := make([]string, 0, len(found))
		for path := range found {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		for _, path := range paths {
			if len(result.Entries) == f.most {
				result.Truncated = true
				return result, nil
			}
			uri, _ := protocol.ParsePathURI(path)
			result.Entries = append(result.Entries, protocol.WalkEntry{Path: uri, Kind: found[path]})
			hidden := p.Options.PruneHiddenDirectories && strings.HasPrefix(uri.Base(), ".")
			if found[path] == protocol.EntryDirectory && queue[0].depth < p.Options.MaxDepth && !hidden {
				queue = append(queue, waiting{path, queue[0].depth + 1})
			}
		}
	}
	return result, nil
}

func (f *fakeFiles) watchMissing(p *protocol.WatchMissingParams) (*protocol.WatchMissingResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, before := range f.awaited {
		if before.WatchID >= p.WatchID {
			return &protocol.WatchMissingResult{}, nil
		}
	}
	f.awaited = append(f.awaited, *p)
	for _, path := range p.Missing {
		if f.byPath[path.String()] != nil {
			return &protocol.WatchMissingResult{}, nil
		}
	}
	return &protocol.WatchMissingResult{Watching: true}, nil
}

func (f *fakeFiles) watch(id string, on bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if on {
		f.watches[id] = true
	} else {
		delete(f.watches, id)
	}
	return nil
}

// watching returns the ids of all watches.
func (f *fakeFiles) watching() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := []string{}
	for id := range f.watches {
		ids = append(ids, id)
	}
	return ids
}

func (f *fakeFiles) request(p *protocol.HTTPRequestParams) (*protocol.HTTPRequestResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, *p)
	select {
	case f.made <- struct{}{}:
	default:
	}
	return &protocol.HTTPRequestResult{Status: 200, Headers: []protocol.HTTPHeader{{Name: "x-test", Value: "1"}}}, nil
}

// requested returns the requests of HTTP that were made.
func (f *fakeFiles) requested() []protocol.HTTPRequestParams {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// send sends a notification over the connection that there is.
func (f *fake) send(method string, params any) {
	f.mu.Lock()
	l := f.attached
	f.mu.Unlock()
	if l == nil {
		return
	}
	_ = l.rpc.Notify(func(dst []byte) []byte { return protocol.AppendNotification(dst, method, params) })
	l.rpc.Flush()
}

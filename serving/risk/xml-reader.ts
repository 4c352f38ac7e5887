import sax from 'sax'
import { InvalidInput } from '../../core/errors.ts'

/** An element as it opens: its local name, namespace and attributes by local name. */
export interface XmlElement {
  readonly name: string
  readonly namespace: string
  readonly attributes: Readonly<Record<string, string>>
}

/** Receives the elements of a document. `path`: the local names down to the element, the root first. */
export interface XmlHandlers {
  readonly open: (element: XmlElement, path: readonly string[]) => void
  /** `text`: the characters of an element without children, trimmed; of others what stands behind the last child. */
  readonly close: (path: readonly string[], text: string) => void
}

/** Bounds of a document. The larger of OFAC's files has about 120 MB. */
export interface XmlBounds {
  readonly bytes: number
  readonly depth: number
  readonly attributes: number
  /** Characters of one element. */
  readonly text: number
}

/** Bounds in force. */
export const XML_BOUNDS: XmlBounds = { bytes: 512 << 20, depth: 32, attributes: 64, text: 32_768 }
/** Characters that the parser receives at once; it checks its own buffers (64 KiB) once for each. */
const PIECE = 16_384

const invalid = (problem: string, cause?: unknown): InvalidInput =>
  new InvalidInput('label list', `the XML ${problem}`, { cause })

const makeParser = ({ open, close }: XmlHandlers, bounds: XmlBounds): sax.SAXParser => {
  const parser = sax.parser(true, { xmlns: true, position: true })
  const path: string[] = []
  let text = ''
  let attributes = 0
  const addText = (more: string): void => {
    if (text.length + more.length > bounds.text)
      throw invalid(`has an element with more than ${bounds.text} characters`)
    text += more
  }
  parser.onerror = (error) => {
    const [problem = ''] = error.message.split('\n')
    throw invalid(`is malformed in line ${parser.line + 1}: ${problem.slice(0, 80)}`, error)
  }
  // Entities of a document type could unfold to any size, or name files.
  parser.ondoctype = () => {
    throw invalid('has a document type declaration, which is refused')
  }
  parser.onprocessinginstruction = ({ name, body }) => {
    const encoding = /encoding\s*=\s*["']([^"']*)/.exec(body)?.[1] ?? 'utf-8'
    if (name === 'xml' && encoding.toLowerCase() !== 'utf-8')
      throw invalid('is not declared as UTF-8')
  }
  parser.onopentagstart = () => {
    attributes = 0
    if (path.length >= bounds.depth) throw invalid(`is nested deeper than ${bounds.depth} elements`)
  }
  parser.onattribute = () => {
    attributes += 1
    if (attributes > bounds.attributes)
      throw invalid(`has an element with more than ${bounds.attributes} attributes`)
  }
  parser.onopentag = (tag) => {
    const { local, uri, attributes: named } = tag as sax.QualifiedTag
    path.push(local)
    text = ''
    const entries = Object.values(named).map((each) => [each.local, each.value] as const)
    open({ name: local, namespace: uri, attributes: Object.fromEntries(entries) }, path)
  }
  parser.ontext = addText
  parser.oncdata = addText
  parser.onclosetag = () => {
    close(path, text.trim())
    path.pop()
    text = ''
  }
  return parser
}

/**
 * Reads a document in pieces, without keeping it. Document types are refused, only the five predefined entities and character references
 * exist. Throws `InvalidInput` for a document that is malformed, not UTF-8 or beyond the bounds.
 */
export const readXml = async (
  chunks: AsyncIterable<Uint8Array>,
  handlers: XmlHandlers,
  bounds: XmlBounds = XML_BOUNDS,
): Promise<void> => {
  const parser = makeParser(handlers, bounds)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch (error) {
      throw invalid('is not UTF-8', error)
    }
  }
  const write = (piece: string): void => {
    for (let at = 0; at < piece.length; at += PIECE) parser.write(piece.slice(at, at + PIECE))
  }
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    if (bytes > bounds.bytes) throw invalid(`has more than ${bounds.bytes} bytes`)
    write(decode(chunk))
  }
  write(decode())
  parser.close()
}

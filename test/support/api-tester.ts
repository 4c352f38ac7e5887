import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cachedPath, fetchOnce, runProgram } from './download.ts'

const PACKAGE = 'schemathesis==4.32.5'
const FOLDER = cachedPath('schemathesis-4.32.5-venv')
const PYTHON = join(FOLDER, 'bin', 'python')

/** Beyond its own time the tester prints what it found, and ends a request that is under way. */
const GRACE_MS = 120_000

/** 501 is what an operation answers that is documented and not offered. */
const SCHEMATHESIS_CONFIG = `[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501]

# The demo has no storage for uploads.
[[operations]]
include-path = "/v2/ipfs/presign"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 501, 502]

# It has no node either.
[[operations]]
include-path-regex = "^/v2/(transaction/[^/]+/(send|estimate-gas-limit)|dex/[^/]+/create)"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 501, 503]
`

const CHECKS = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance'],
  ...['response_schema_conformance', 'response_headers_conformance'],
]

/** Makes a tester of OpenAPI documents available, in a virtual environment. Needs Python, and the first time a network. */
export const fetchApiTester = (): Promise<void> =>
  fetchOnce(FOLDER, async (draft) => {
    await runProgram('python3', ['-m', 'venv', draft])
    const python = join(draft, 'bin', 'python')
    await runProgram(python, [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      PACKAGE,
    ])
  })

/** What a tester did and found. */
export interface ApiReport {
  /** Requests that were sent. */
  readonly cases: number
  readonly operations: number
  /** Kinds of wrong answers with the operations that gave them. */
  readonly failures: readonly string[]
  /** What it printed, for who looks for a reason. */
  readonly text: string
}

interface RawReport {
  readonly operations: { readonly tested: number }
  readonly test_cases: { readonly generated: number }
  readonly failures: readonly { readonly title: string; readonly operations: readonly string[] }[]
  readonly errors: readonly { readonly title: string }[]
}

/**
 * Calls the operations of a server's document whose paths fit `paths`, with requests that fit the document and requests that do not,
 * for so many seconds. Rejects when the tester itself fails, or does not end.
 */
export const testApi = async (
  baseUrl: string,
  { apiKey, seconds, paths }: { apiKey: string; seconds: number; paths: string },
): Promise<ApiReport> => {
  // The tester leaves files where it runs.
  const folder = await mkdtemp(join(tmpdir(), 'sluice-api-tester-'))
  try {
    const settings = join(folder, 'schemathesis.toml')
    await writeFile(settings, SCHEMATHESIS_CONFIG)
    const words = [
      ...['-m', 'schemathesis.cli', '--config-file', settings],
      ...['run', `${baseUrl}/openapi.json`, '--url', baseUrl, '-H', `X-API-KEY: ${apiKey}`],
      // More than one worker breaks its cache of generators.
      ...['--workers', '1', '--phases', 'coverage,fuzzing', '--no-shrink', '--warnings', 'off'],
      ...['--generation-database', 'none', '--max-time', String(seconds)],
      ...['--include-path-regex', paths, '--checks', CHECKS.join()],
      ...['--report', 'json', '--report-json-path', join(folder, 'report.json')],
    ]
    const limits = { cwd: folder, timeout: seconds * 1_000 + GRACE_MS, maxBuffer: 64 << 20 }
    const text = await runProgram(PYTHON, words, limits).catch(failureOutput)
    return toReport(JSON.parse(await readFile(join(folder, 'report.json'), 'utf8')), text)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What a tester printed that found something; it ends with code 1 then. */
const failureOutput = (error: unknown): string => {
  const { code, stdout } = error as { readonly code?: unknown; readonly stdout?: unknown }
  if (code !== 1 || typeof stdout !== 'string') throw error
  return stdout
}

const toReport = (raw: RawReport, text: string): ApiReport => ({
  cases: raw.test_cases.generated,
  operations: raw.operations.tested,
  failures: [
    ...raw.failures.map(({ title, operations }) => `${title}: ${operations.join(', ')}`),
    ...raw.errors.map(({ title }) => title),
  ],
  text,
})

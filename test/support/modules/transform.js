import { readFileSync } from 'node:fs'
import { transform } from 'esbuild'

/** JavaScript of a TypeScript source, with the places of the source for stack traces. Throws where it cannot be parsed. */
export const transformSource = async (path) => {
  const { code } = await transform(readFileSync(path, 'utf8'), {
    loader: 'ts',
    format: 'esm',
    target: 'esnext',
    minifyWhitespace: true,
    legalComments: 'none',
    sourcemap: 'inline',
    sourcesContent: false,
    sourcefile: path,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })
  return code
}

//! Configuration files that are new or shared by many tools.

use super::{TamperCase, check};

#[test]
fn a_configuration_that_checks_less_is_found() {
    check(CHANGED);
}

#[test]
fn a_configuration_that_checks_no_less_is_not_found() {
    check(HARMLESS);
}

pub(super) const CHANGED: &[TamperCase] = &[
    (
        "typescript not strict",
        &[(
            "tsconfig.json",
            "{\n  // all of it\n  \"compilerOptions\": { \"strict\": true, \"target\": \"es2022\", },\n}\n",
            "{\n  \"compilerOptions\": { \"strict\": false, \"target\": \"es2022\", },\n}\n",
        )],
        &["tsconfig.json: the compiler's checks changed: compilerOptions.strict"],
    ),
    (
        "typescript strict left out",
        &[(
            "web/tsconfig.json",
            r#"{"compilerOptions":{"strict":true}}"#,
            r#"{"compilerOptions":{}}"#,
        )],
        &["web/tsconfig.json: the compiler's checks changed: compilerOptions.strict"],
    ),
    (
        "typescript any",
        &[(
            "tsconfig.app.json",
            r#"{"compilerOptions":{"strict":true}}"#,
            r#"{"compilerOptions":{"strict":true,"noImplicitAny":false}}"#,
        )],
        &["tsconfig.app.json: the compiler's checks changed: compilerOptions.noImplicitAny"],
    ),
    (
        "typescript file left out",
        &[("tsconfig.json", r#"{"exclude":["dist"]}"#, r#"{"exclude":["dist","src/broken.ts"]}"#)],
        &["tsconfig.json: the compiler's checks changed: exclude"],
    ),
    (
        "vite test exclude",
        &[(
            "vite.config.ts",
            "export default defineConfig({\n  plugins: [a()],\n  test: {\n    coverage: { a: 1 },\n    globals: true,\n  },\n});\n",
            "export default defineConfig({\n  plugins: [a()],\n  test: {\n    coverage: { a: 1 },\n    globals: true,\n    exclude: ['src/a.test.ts'],\n  },\n});\n",
        )],
        &["vite.config.ts: the test configuration changed"],
    ),
    (
        "vite test block with include added",
        &[(
            "vite.config.ts",
            "export default { plugins: [] };\n",
            "export default { plugins: [], test: { include: ['src/ok.test.ts'] } };\n",
        )],
        &["vite.config.ts: the test configuration changed"],
    ),
    (
        "new jest with matches",
        &[("jest.config.js", "-", "module.exports = { testMatch: ['<rootDir>/ok/a.js'] };\n")],
        &["jest.config.js: the test configuration changed"],
    ),
    (
        "new jest with ignored paths",
        &[("jest.config.js", "-", "module.exports = { testPathIgnorePatterns: ['/x/'] };\n")],
        &["jest.config.js: the test configuration changed"],
    ),
    (
        "new vitest with include",
        &[("vitest.config.ts", "-", "export default { test: { include: ['src/ok.test.ts'] } };\n")],
        &["vitest.config.ts: the test configuration changed"],
    ),
    (
        "jest in package.json",
        &[("package.json", r#"{"jest":{}}"#, r#"{"jest":{"testMatch":["<rootDir>/ok/a.js"]}}"#)],
        &["package.json: the project's checks changed: jest.testMatch"],
    ),
    (
        "new pytest.ini with one folder",
        &[("pytest.ini", "-", "[pytest]\ntestpaths = tests/unit\n")],
        &["pytest.ini: the configuration of the tests or linters changed"],
    ),
    (
        "new pytest.ini deselects",
        &[("pytest.ini", "-", "[pytest]\naddopts = -k fast\n")],
        &["pytest.ini: the configuration of the tests or linters changed"],
    ),
    (
        "new pytest section",
        &[(
            "pyproject.toml",
            "[project]\n",
            "[project]\n[tool.pytest.ini_options]\naddopts = '-q --deselect tests/a.py::test_a'\ntestpaths = ['tests/unit']\n",
        )],
        &["pyproject.toml: the configuration of the tests or linters changed: \
           tool.pytest.ini_options.addopts, tool.pytest.ini_options.testpaths"],
    ),
    (
        "new eslint that ignores all",
        &[("eslint.config.js", "-", "export default [{ ignores: [\"**\"] }];\n")],
        &["eslint.config.js: the configuration of the linters changed"],
    ),
    (
        "eslint rule off",
        &[(
            "eslint.config.js",
            "export default [{ rules: { a: 'error' } }];\n",
            "export default [{ rules: { a: 'off' } }];\n",
        )],
        &["eslint.config.js: the configuration of the linters changed"],
    ),
    (
        "eslint ignores sources",
        &[(".eslintignore", "dist\n", "dist\nsrc/a.js\n")],
        &[".eslintignore: the linters now cover fewer files"],
    ),
    (
        "lint level lowered",
        &[(
            "Cargo.toml",
            "[lints.clippy]\nunwrap_used = 'deny'\n",
            "[lints.clippy]\nunwrap_used = 'warn'\n",
        )],
        &["Cargo.toml: the checks of `cargo` changed: lints.clippy.unwrap_used"],
    ),
    (
        "lint left out",
        &[("Cargo.toml", "[lints.clippy]\nunwrap_used = 'warn'\n", "[lints.clippy]\n")],
        &["Cargo.toml: the checks of `cargo` changed: lints.clippy.unwrap_used"],
    ),
    (
        "composer script",
        &[("composer.json", r#"{"scripts":{"test":"phpunit"}}"#, r#"{"scripts":{"test":"true"}}"#)],
        &["composer.json: the project's checks changed: scripts.test"],
    ),
    (
        "taskfile",
        &[(
            "Taskfile.yml",
            "tasks:\n  test:\n    cmds: [go test]\n",
            "tasks:\n  test:\n    cmds: [echo]\n",
        )],
        &["Taskfile.yml: the definition of `test` changed"],
    ),
    (
        "ctest switched off",
        &[(
            "CMakeLists.txt",
            "add_test(NAME a COMMAND a)\n",
            "add_test(NAME a COMMAND a)\nset_tests_properties(a PROPERTIES DISABLED TRUE)\n",
        )],
        &["CMakeLists.txt: selection of tests changed"],
    ),
    (
        "new codecov that ignores",
        &[("codecov.yml", "-", "ignore:\n  - src\n")],
        &["codecov.yml: the test configuration changed"],
    ),
];

pub(super) const HARMLESS: &[TamperCase] = &[
    (
        "jest in package.json with the usual files",
        &[("package.json", r#"{"jest":{}}"#, r#"{"jest":{"testMatch":["**/*.test.js"]}}"#)],
        &[],
    ),
    (
        "typescript stricter",
        &[(
            "tsconfig.json",
            "{ \"compilerOptions\": { \"strict\": false, \"noImplicitAny\": false } }",
            "{\n  // strict at last\n  \"compilerOptions\": { \"strict\": true, },\n}\n",
        )],
        &[],
    ),
    (
        "typescript paths",
        &[(
            "tsconfig.json",
            r#"{"compilerOptions":{"strict":true,"paths":{"@/*":["./src/*"]}},"exclude":["dist"]}"#,
            r#"{"compilerOptions":{"strict":true,"target":"es2022"},"exclude":["node_modules"]}"#,
        )],
        &[],
    ),
    (
        "new typescript",
        &[("tsconfig.json", "-", r#"{"compilerOptions":{"noImplicitAny":false}}"#)],
        &[],
    ),
    (
        "vite plugin",
        &[(
            "vite.config.ts",
            "export default {\n  test: { globals: true },\n  optimizeDeps: { exclude: ['a'] },\n};\n",
            "export default {\n  plugins: [react()],\n  test: {\n    globals: true },\n  optimizeDeps: { exclude: ['a', 'b'] }, // fast\n};\n",
        )],
        &[],
    ),
    (
        "first vite tests",
        &[(
            "vite.config.ts",
            "export default { plugins: [] };\n",
            "export default { plugins: [], test: { globals: true, environment: 'jsdom' } };\n",
        )],
        &[],
    ),
    (
        "first vitest with the usual files",
        &[(
            "vitest.config.ts",
            "-",
            "export default defineConfig({\n  test: {\n    include: ['src/**/*.{test,spec}.ts', 'tests/**/*.test.ts'],\n    coverage: { include: ['src/a.ts'], exclude: ['src/b.ts'] },\n  },\n});\n",
        )],
        &[],
    ),
    (
        "first jest with the usual files",
        &[(
            "jest.config.js",
            "-",
            "// testMatch: ['x'], exclude nothing\nmodule.exports = { preset: 'ts-jest', testMatch: ['**/__tests__/**/*.ts', '**/?(*.)+(spec|test).ts'] };\n",
        )],
        &[],
    ),
    (
        "first playwright",
        &[(
            "playwright.config.ts",
            "-",
            "export default defineConfig({ testDir: './e2e', retries: process.env.CI ? 2 : 0 });\n",
        )],
        &[],
    ),
    (
        "comment in a test configuration",
        &[(
            "vitest.config.ts",
            "export default { test: {} };\n",
            "// how tests are run\nexport default { test: {} }; // all of them\n",
        )],
        &[],
    ),
    (
        "first pytest.ini",
        &[("pytest.ini", "-", "[pytest]\ntestpaths = tests\naddopts = -q\n")],
        &[],
    ),
    (
        "comment in eslint",
        &[(
            "eslint.config.js",
            "export default [a];\n",
            "// the recommended rules\nexport default [a]; /* all */\n",
        )],
        &[],
    ),
    (
        "first eslint",
        &[(
            "eslint.config.js",
            "-",
            "export default [{ ignores: [\"dist/**\", \"coverage\"] }, a];\n",
        )],
        &[],
    ),
    ("eslint ignores less", &[(".eslintignore", "dist\nsrc/a.js\n", "dist\nbuild\n")], &[]),
    (
        "lint level raised",
        &[(
            "Cargo.toml",
            "[lints.clippy]\nunwrap_used = 'warn'\npanic = 'allow'\n",
            "[lints.clippy]\nunwrap_used = 'deny'\n",
        )],
        &[],
    ),
    (
        "lint level in its long form",
        &[(
            "Cargo.toml",
            "[lints.clippy]\npedantic = 'warn'\n",
            "[lints.clippy]\npedantic = { level = 'warn', priority = -1 }\n",
        )],
        &[],
    ),
];

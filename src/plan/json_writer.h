// Writes JSON text, piece by piece: objects, arrays, strings, integers, booleans.
#ifndef TILESCAN_PLAN_JSON_WRITER_H_
#define TILESCAN_PLAN_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescan::plan {

class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }

  // In an object, before each value.
  void Key(std::string_view key) {
    Separate();
    AppendString(key);
    text_ += ": ";
    is_first_ = true;
  }

  void String(std::string_view value) {
    Separate();
    AppendString(value);
  }
  void Integer(int64_t value) {
    Separate();
    text_ += std::to_string(value);
  }
  void Boolean(bool value) {
    Separate();
    text_ += value ? "true" : "false";
  }

  void Member(std::string_view key, std::string_view value) {
    Key(key);
    String(value);
  }
  void Member(std::string_view key, int64_t value) {
    Key(key);
    Integer(value);
  }

  const std::string& text() const { return text_; }

 private:
  void Open(char bracket) {
    Separate();
    text_ += bracket;
    is_first_ = true;
  }
  void Close(char bracket) {
    text_ += bracket;
    is_first_ = false;
  }
  void Separate() {
    if (!is_first_) text_ += ", ";
    is_first_ = false;
  }

  void AppendString(std::string_view value) {
    static constexpr char kHexDigits[] = "0123456789abcdef";
    text_ += '"';
    for (const char symbol : value) {
      const unsigned char byte = static_cast<unsigned char>(symbol);
      if (symbol == '"' || symbol == '\\') {
        text_ += '\\';
        text_ += symbol;
      } else if (byte < 0x20 || byte >= 0x7f) {
        // A byte beyond ASCII is read as Latin-1, so that the text is right whatever it holds.
        text_ += "\\u00";
        text_ += kHexDigits[byte >> 4];
        text_ += kHexDigits[byte & 15];
      } else {
        text_ += symbol;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool is_first_ = true;
};

}  // namespace tilescan::plan

#endif  // TILESCAN_PLAN_JSON_WRITER_H_

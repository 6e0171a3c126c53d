package io.tidegate.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.s3a.S3AFileSystem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KnownLengthTest {
  @ParameterizedTest
  @CsvSource({"classic,true", "' Classic ',true", "analytics,false", "default,false", "prefetch,false", ",false"})
  void onlyAStreamThatRemembersNothingIsOpenedWithALengthAlone(String stream, boolean suffices) {
    Configuration conf = new Configuration(false);
    if (stream != null) {
      conf.set("fs.s3a.input.stream.type", stream);
    }
    assertEquals(suffices, KnownLength.suffices(with(new S3AFileSystem(), conf)));
  }

  @Test
  void otherFileSystemsRememberNothing() {
    assertEquals(true, KnownLength.suffices(with(new RawLocalFileSystem(), new Configuration(false))));
  }

  private static FileSystem with(FileSystem fs, Configuration conf) {
    fs.setConf(conf);
    return fs;
  }
}
